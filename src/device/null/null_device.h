#pragma once
#include <map>

#include "device/cpu/cpu_device.h"
#include "device/null/null_stream.h"

namespace trireme::device {

/// A device without hardware: the cores of a CPU behind what makes a GPU different. Its streams are
/// lazy, and its addresses are none of the host's: whoever follows one crashes. For tests, and for
/// work on what a GPU needs where there is none. Used by one thread.
class NullDevice final : public Device {
 public:
  explicit NullDevice(int threads) : cpu_(threads), cpu_stream_(cpu_.pool()) {}

  [[nodiscard]] std::string_view name() const override { return "null"; }
  [[nodiscard]] int64_t available_bytes() const override { return cpu_.available_bytes(); }

  [[nodiscard]] std::unique_ptr<Stream> make_stream() override;
  [[nodiscard]] std::unique_ptr<Event> make_event() override;
  void record(Event& event, Stream& stream) override;
  void wait(Stream& stream, const Event& event) override;
  void synchronize(Stream& stream) override;
  void synchronize(const Event& event) override;
  void copy_in(Stream& stream, void* device_memory, std::span<const std::byte> host) override;
  void copy_out(Stream& stream, std::span<std::byte> host, const void* device_memory) override;
  void fill_zero(Stream& stream, void* device_memory, int64_t bytes) override;

  /// Where the work that was queued is done.
  [[nodiscard]] CpuStream& cpu_stream() { return cpu_stream_; }
  /// The host's address of a range of device memory. Throws, naming who wants it, unless the whole
  /// range lies in one arena that is still there.
  [[nodiscard]] std::byte* host_address(const void* device_memory, int64_t bytes,
                                        std::string_view who) const;

 private:
  std::byte* allocate(int64_t bytes) override;
  void release(std::byte* memory, int64_t bytes) noexcept override;

  CpuDevice cpu_;
  CpuStream cpu_stream_;
  std::map<uintptr_t, Arena> arenas_;  // by the host's address
};

}  // namespace trireme::device
