#pragma once
#include <cstdint>

// What a device's shared library and the program say to each other: numbers, addresses and function
// pointers. No exception crosses (a Status and a Failure do), nothing that one side allocated is
// freed by the other, and a handle means something to the library only. Everything is called by the
// thread of the rank that opened the device.

namespace trireme::plugin::abi {

/// Counts changes of this file's meaning. The first thing that is compared.
inline constexpr uint32_t kVersion = 1;

/// The name of the library's one exported function, of type Entry.
inline constexpr const char* kEntryName = "trireme_plugin";

enum class Status : int32_t { done = 0, run_failure = 1, usage_failure = 2 };

/// The words of an Error (core/error.h), each ended by a zero. The program's memory, filled by the
/// library where a call fails; what is longer is cut.
struct Failure {
  char where[256];
  char what[2048];
  char rule[512];
  char remedy[512];
};

/// What a rate in FLOP/s is and how it is known, as in "the data sheet's".
struct Peak {
  double flops;
  char how[256];
};

/// One op to be queued. op points to a program::OpSpec, which has one layout for one build id; all
/// that is pointed to is read before launch() returns. The other fields are ops::Arguments.
struct Op {
  const void* op;
  void* const* operands;
  int64_t operand_count;
  void* workspace;
  uint32_t layer;
  uint32_t accumulate;
};

struct Device;
struct Stream;
struct Event;
struct Communicator;

/// What the library can do: device/device.h, ops/kernel.h and comm/communicator.h, verb by verb.
/// Made by the library, constant and there as long as it is loaded.
struct Table {
  // The first four never change their places, whatever the version.
  uint32_t version;
  uint32_t bytes;  ///< of this struct
  const char* build_id;
  const char* name;  ///< of the kind of device

  /// 1 where there is a kernel for the op kind (the index in program::OpSpec).
  int32_t (*has_kernel)(int64_t kind) noexcept;

  Status (*open_device)(int32_t threads, Device** device, Failure* failure) noexcept;
  void (*close_device)(Device* device) noexcept;
  Status (*available_bytes)(Device* device, int64_t* bytes, Failure* failure) noexcept;
  Status (*peak)(Device* device, Peak* peak, Failure* failure) noexcept;
  Status (*allocate)(Device* device, int64_t bytes, void** memory, Failure* failure) noexcept;
  void (*release)(Device* device, void* memory) noexcept;

  Status (*open_stream)(Device* device, Stream** stream, Failure* failure) noexcept;
  void (*close_stream)(Stream* stream) noexcept;
  Status (*open_event)(Device* device, Event** event, Failure* failure) noexcept;
  void (*close_event)(Event* event) noexcept;
  Status (*record)(Device* device, Event* event, Stream* stream, Failure* failure) noexcept;
  Status (*wait)(Device* device, Stream* stream, const Event* event, Failure* failure) noexcept;
  Status (*synchronize_stream)(Device* device, Stream* stream, Failure* failure) noexcept;
  Status (*synchronize_event)(Device* device, const Event* event, Failure* failure) noexcept;
  Status (*copy_in)(Device* device, Stream* stream, void* device_memory, const void* host,
                    int64_t bytes, Failure* failure) noexcept;
  Status (*copy_out)(Device* device, Stream* stream, void* host, const void* device_memory,
                     int64_t bytes, Failure* failure) noexcept;
  Status (*fill_zero)(Device* device, Stream* stream, void* device_memory, int64_t bytes,
                      Failure* failure) noexcept;
  Status (*launch)(Stream* stream, const Op* op, Failure* failure) noexcept;

  Status (*open_communicator)(Device* device, int32_t rank, int32_t size,
                              Communicator** communicator, Failure* failure) noexcept;
  void (*close_communicator)(Communicator* communicator) noexcept;
  /// exchange: a comm::Exchange, which has one layout for one build id. Read before it returns,
  /// but for its cuts, which stay until the wait.
  Status (*start)(Communicator* communicator, Stream* stream, const void* exchange,
                  uint64_t* request, Failure* failure) noexcept;
  Status (*progress)(Communicator* communicator, Failure* failure) noexcept;
  Status (*wait_request)(Communicator* communicator, uint64_t request, Stream* stream,
                         Failure* failure) noexcept;
  void (*withdraw)(Communicator* communicator) noexcept;
  /// bytes: one number per comm::Traffic, in its order.
  void (*bytes_sent)(const Communicator* communicator, int64_t* bytes) noexcept;
};

using Entry = const Table* (*)() noexcept;

}  // namespace trireme::plugin::abi
