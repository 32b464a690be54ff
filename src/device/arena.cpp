#include <utility>

#include "device/device.h"

namespace trireme::device {

Arena::Arena(Device& device, int64_t bytes) : device_(&device), bytes_(bytes) {
  if (bytes > 0) data_ = device.allocate(bytes);
}

Arena::~Arena() {
  if (data_ != nullptr) device_->release(data_, bytes_);
}

Arena::Arena(Arena&& other) noexcept
    : device_(other.device_),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

Arena& Arena::operator=(Arena&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

}  // namespace trireme::device
