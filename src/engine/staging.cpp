#include "engine/staging.h"

#include <algorithm>

#include "core/error.h"

namespace trireme::engine {

Staging::Staging(device::Device& device, int64_t half_bytes) : device_(device) {
  for (Half& half : halves_) {
    half.bytes.resize(static_cast<size_t>(half_bytes));
    half.passed = device.make_event();
  }
}

void Staging::copy_in(device::Stream& stream, void* device_memory,
                      std::span<const std::byte> bytes) {
  const auto count = static_cast<int64_t>(bytes.size());
  if (count == 0) return;
  if (filled_ + count > static_cast<int64_t>(halves_[filling_].bytes.size())) {
    device_.record(*halves_[filling_].passed, stream);
    filling_ = 1 - filling_;
    filled_ = 0;
    device_.synchronize(*halves_[filling_].passed);
  }
  std::vector<std::byte>& half = halves_[filling_].bytes;
  TRIREME_ASSERT(count <= static_cast<int64_t>(half.size()), "what is staged fits one half");
  const auto place = std::span(half).subspan(static_cast<size_t>(filled_), bytes.size());
  std::copy(bytes.begin(), bytes.end(), place.begin());
  device_.copy_in(stream, device_memory, place);
  filled_ += (count + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace trireme::engine
