#pragma once
#include <array>
#include <memory>
#include <span>
#include <vector>

#include "device/device.h"

namespace trireme::engine {

/// Host memory from which small things are copied to a device: what is handed over is the caller's
/// again when the call returns, and the host need not wait for the stream. Two halves are filled in
/// turn; before one is filled again the host waits until the stream has passed its last copies.
/// Allocates nothing after construction.
class Staging {
 public:
  /// half_bytes: how much may be under way before the host looks back; at least what one call
  /// copies, rounded up to kAlignment.
  Staging(device::Device& device, int64_t half_bytes);

  /// Queues a copy of the bytes to device memory.
  void copy_in(device::Stream& stream, void* device_memory, std::span<const std::byte> bytes);

  static constexpr int64_t kAlignment = 64;

 private:
  struct Half {
    std::vector<std::byte> bytes;
    std::unique_ptr<device::Event> passed;  // recorded behind the last copy from it
  };

  device::Device& device_;
  std::array<Half, 2> halves_;
  size_t filling_ = 0;
  int64_t filled_ = 0;  // bytes of the half that is being filled
};

}  // namespace trireme::engine
