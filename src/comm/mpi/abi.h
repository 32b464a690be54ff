#pragma once
#include <cstdint>

// What trireme_mpi.so and the program say to each other: numbers, addresses and function pointers.
// The library is the only thing here that is built with an MPI, so the program runs where there is
// none. No exception crosses (a Status and a Failure do), and nothing that one side allocated is
// freed by the other. Everything is called by the one thread that opened it.

namespace trireme::comm::mpi {

/// Counts changes of this file's meaning. The first thing that is compared.
inline constexpr uint32_t kVersion = 1;

/// The name of the library's one exported function, of type Entry.
inline constexpr const char* kEntryName = "trireme_mpi";

enum class Status : int32_t { done = 0, failed = 1 };

/// What MPI said, ended by a zero, as in "MPI_Isend: MPI_ERR_RANK: invalid rank". The program's
/// memory, filled by the library where a call fails; what is longer is cut.
struct Failure {
  char words[1024];
};

/// What this process is part of.
struct Place {
  int32_t rank;  ///< in MPI_COMM_WORLD
  int32_t size;
  int64_t largest_tag;
  char library[256];  ///< as MPI names itself, first line
  char host[256];
};

/// A transfer that was started and is through.
struct Completion {
  int32_t request;
  int32_t peer;   ///< of one that was received: who sent it
  int64_t bytes;  ///< of one that was received: how many came
};

inline constexpr int32_t kAnyPeer = -1;

/// Bytes that one transfer has at most.
inline constexpr int64_t kMostBytes = int64_t{1} << 30;

/// One process's MPI, from its MPI_Init to its MPI_Finalize.
struct Mpi;

/// Point-to-point messages between the processes of MPI_COMM_WORLD, which are its only ones.
/// Requests are small numbers, which are given again after their completion. Made by the library,
/// constant and there as long as it is loaded.
struct Table {
  // The first three never change their places, whatever the version.
  uint32_t version;
  uint32_t bytes;  ///< of this struct
  const char* build_id;

  /// MPI_Init. Nothing else may be called where it failed.
  Status (*open)(Mpi** mpi, Place* place, Failure* failure) noexcept;
  /// MPI_Finalize, after all requests completed or were cancelled. mpi is void then.
  Status (*close)(Mpi* mpi, Failure* failure) noexcept;
  /// MPI_Abort: ends all processes of the job. Does not return.
  void (*abort)(Mpi* mpi, int32_t exit_status) noexcept;

  /// The data may be read until the completion.
  Status (*send)(Mpi* mpi, int32_t peer, int32_t tag, const void* data, int64_t bytes,
                 int32_t* request, Failure* failure) noexcept;
  /// Takes the next message of the peer (or of any) with this tag, of at most so many bytes.
  Status (*receive)(Mpi* mpi, int32_t peer, int32_t tag, void* data, int64_t bytes,
                    int32_t* request, Failure* failure) noexcept;
  /// Moves on what is under way, and tells up to `most` completions that were not told before.
  Status (*poll)(Mpi* mpi, Completion* completions, int32_t most, int32_t* count,
                 Failure* failure) noexcept;
  /// Takes back a receive that nothing came for.
  Status (*cancel)(Mpi* mpi, int32_t request, Failure* failure) noexcept;
};

using Entry = const Table* (*)() noexcept;

}  // namespace trireme::comm::mpi
