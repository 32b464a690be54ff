#pragma once
#include <deque>

#include "device/cpu/cpu_device.h"

namespace trireme {

/// A CPU that counts what it gives, and has as much memory as it is told.
class CountingDevice final : public device::Device {
 public:
  explicit CountingDevice(int64_t available = int64_t{1} << 40) : available_(available) {}
  [[nodiscard]] std::string_view name() const override { return cpu_.name(); }
  [[nodiscard]] int64_t available_bytes() const override { return available_ - given_; }
  [[nodiscard]] std::unique_ptr<device::Stream> make_stream() override {
    return cpu_.make_stream();
  }
  [[nodiscard]] std::unique_ptr<device::Event> make_event() override { return cpu_.make_event(); }
  void record(device::Event& event, device::Stream& stream) override { cpu_.record(event, stream); }
  void wait(device::Stream& stream, const device::Event& event) override {
    cpu_.wait(stream, event);
  }
  void synchronize(device::Stream& stream) override { cpu_.synchronize(stream); }
  void synchronize(const device::Event& event) override { cpu_.synchronize(event); }
  void copy_in(device::Stream& stream, void* memory, std::span<const std::byte> host) override {
    cpu_.copy_in(stream, memory, host);
  }
  void copy_out(device::Stream& stream, std::span<std::byte> host, const void* memory) override {
    cpu_.copy_out(stream, host, memory);
  }
  void fill_zero(device::Stream& stream, void* memory, int64_t bytes) override {
    cpu_.fill_zero(stream, memory, bytes);
  }
  [[nodiscard]] int64_t given() const { return given_; }

 private:
  std::byte* allocate(int64_t bytes) override {
    given_ += bytes;
    return arenas_.emplace_back(cpu_, bytes).data();
  }
  void release(std::byte*, int64_t) noexcept override {}

  int64_t available_;
  device::CpuDevice cpu_{1};
  std::deque<device::Arena> arenas_;
  int64_t given_ = 0;
};

}  // namespace trireme
