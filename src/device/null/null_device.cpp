#include "device/null/null_device.h"

#include <cstring>
#include <string>

#include "core/error.h"
#include "core/format.h"

namespace trireme::device {
namespace {

// Between a device address and the host's: beyond what processes are given, below the tag bits of
// processors that ignore the highest byte.
constexpr uintptr_t kDistance = uintptr_t{1} << 52;

NullStream& null(Stream& stream) {
  return static_cast<NullStream&>(stream);
}

}  // namespace

std::unique_ptr<Stream> NullDevice::make_stream() {
  return std::make_unique<NullStream>(*this);
}
std::unique_ptr<Event> NullDevice::make_event() {
  return std::make_unique<NullEvent>();
}

void NullDevice::record(Event& event, Stream& stream) {
  static_cast<NullEvent&>(event).mark = null(stream).mark();
}
void NullDevice::wait(Stream& stream, const Event& event) {
  null(stream).wait(static_cast<const NullEvent&>(event).mark);
}
void NullDevice::synchronize(Stream& stream) {
  null(stream).mark().reach();
}
void NullDevice::synchronize(const Event& event) {
  static_cast<const NullEvent&>(event).mark.reach();
}

void NullDevice::copy_in(Stream& stream, void* device_memory, std::span<const std::byte> host) {
  null(stream).queue([=, this] {
    std::memcpy(
        host_address(device_memory, static_cast<int64_t>(host.size()), "copy to the device"),
        host.data(), host.size());
  });
}

void NullDevice::copy_out(Stream& stream, std::span<std::byte> host, const void* device_memory) {
  null(stream).queue([=, this] {
    std::memcpy(
        host.data(),
        host_address(device_memory, static_cast<int64_t>(host.size()), "copy from the device"),
        host.size());
  });
}

void NullDevice::fill_zero(Stream& stream, void* device_memory, int64_t bytes) {
  null(stream).queue([=, this] {
    std::memset(host_address(device_memory, bytes, "fill"), 0, static_cast<size_t>(bytes));
  });
}

std::byte* NullDevice::host_address(const void* device_memory, int64_t bytes,
                                    std::string_view who) const {
  const uintptr_t address = reinterpret_cast<uintptr_t>(device_memory) - kDistance;
  const auto behind = arenas_.upper_bound(address);
  if (behind != arenas_.begin()) {
    const auto& [first, arena] = *std::prev(behind);
    const uintptr_t offset = address - first;
    const auto size = static_cast<uintptr_t>(arena.bytes());
    if (offset < size && static_cast<uintptr_t>(bytes) <= size - offset)
      return arena.data() + offset;
  }
  fail({.where = "null device",
        .what =
            format("{}: {} bytes at {} are not memory of this device", who, bytes, device_memory),
        .rule = "work on a device reaches its own arenas only, as long as they are there"});
}

std::byte* NullDevice::allocate(int64_t bytes) {
  Arena arena(cpu_, bytes);
  const auto address = reinterpret_cast<uintptr_t>(arena.data());
  arenas_.emplace(address, std::move(arena));
  // NOLINTNEXTLINE(performance-no-int-to-ptr): an address that is not to be followed
  return reinterpret_cast<std::byte*>(address + kDistance);
}

void NullDevice::release(std::byte* memory, int64_t) noexcept {
  arenas_.erase(reinterpret_cast<uintptr_t>(memory) - kDistance);
}

}  // namespace trireme::device
