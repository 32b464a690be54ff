#include "device/cpu/cpu_device.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>

#include "core/error.h"
#include "core/format.h"
#include "core/log.h"

namespace trireme::device {
namespace {

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

int64_t meminfo_available() {
  std::ifstream file("/proc/meminfo");
  std::string key;
  int64_t kibibytes = 0;
  std::string unit;
  while (file >> key >> kibibytes) {
    if (key == "MemAvailable:") return kibibytes * 1024;
    std::getline(file, unit);
  }
  return kNoLimit;
}

// What the control group still allows: its limit minus what it uses, file cache given back.
int64_t cgroup_available() {
  int64_t limit = 0;
  int64_t used = 0;
  if (!(std::ifstream("/sys/fs/cgroup/memory.max") >> limit)) return kNoLimit;  // absent, or "max"
  if (!(std::ifstream("/sys/fs/cgroup/memory.current") >> used)) return kNoLimit;
  std::ifstream stat("/sys/fs/cgroup/memory.stat");
  std::string key;
  int64_t value = 0;
  while (stat >> key >> value) {
    if (key == "inactive_file" || key == "active_file") used -= value;
  }
  return std::max<int64_t>(limit - used, 0);
}

class CpuEvent final : public Event {};

}  // namespace

int64_t CpuDevice::available_bytes() const {
  return std::min(meminfo_available(), cgroup_available());
}

std::unique_ptr<Stream> CpuDevice::make_stream() {
  return std::make_unique<CpuStream>(pool_);
}
std::unique_ptr<Event> CpuDevice::make_event() {
  return std::make_unique<CpuEvent>();
}

// Work runs when it is queued, so every event has already happened.
void CpuDevice::record(Event&, Stream&) {}
void CpuDevice::wait(Stream&, const Event&) {}
void CpuDevice::synchronize(Stream&) {}
void CpuDevice::synchronize(const Event&) {}

void CpuDevice::copy_in(Stream&, void* device_memory, std::span<const std::byte> host) {
  std::memcpy(device_memory, host.data(), host.size());
}

void CpuDevice::copy_out(Stream&, std::span<std::byte> host, const void* device_memory) {
  std::memcpy(host.data(), device_memory, host.size());
}

void CpuDevice::fill_zero(Stream&, void* device_memory, int64_t bytes) {
  std::memset(device_memory, 0, static_cast<size_t>(bytes));
}

std::byte* CpuDevice::allocate(int64_t bytes) {
  void* memory = ::mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    fail({.where = "cpu device",
          .what = format("cannot allocate {}: {}", bytes_text(static_cast<double>(bytes)),
                         errno_text(errno)),
          .remedy = "use a smaller model, micro-batch size or sequence length"});
  }
  // Large pages save some percent of a step; where the kernel has none this does nothing, so its
  // answer does not matter.
  static_cast<void>(::madvise(memory, static_cast<size_t>(bytes), MADV_HUGEPAGE));
  return static_cast<std::byte*>(memory);
}

void CpuDevice::release(std::byte* memory, int64_t bytes) noexcept {
  ::munmap(memory, static_cast<size_t>(bytes));
}

}  // namespace trireme::device
