#pragma once
#include "core/thread_pool.h"
#include "device/device.h"

namespace trireme::device {

/// A CPU stream: work runs at once, on the rank's thread pool.
class CpuStream final : public Stream {
 public:
  explicit CpuStream(ThreadPool& pool) : pool_(pool) {}
  [[nodiscard]] ThreadPool& pool() const { return pool_; }

 private:
  ThreadPool& pool_;
};

/// The cores and memory of one rank. Owns the rank's only thread pool.
class CpuDevice final : public Device {
 public:
  explicit CpuDevice(int threads) : pool_(threads) {}

  [[nodiscard]] std::string_view name() const override { return "cpu"; }
  [[nodiscard]] int64_t available_bytes() const override;
  [[nodiscard]] ThreadPool& pool() { return pool_; }

  [[nodiscard]] std::unique_ptr<Stream> make_stream() override;
  [[nodiscard]] std::unique_ptr<Event> make_event() override;
  void record(Event& event, Stream& stream) override;
  void wait(Stream& stream, const Event& event) override;
  void synchronize(Stream& stream) override;
  void synchronize(const Event& event) override;
  void copy_in(Stream& stream, void* device_memory, std::span<const std::byte> host) override;
  void copy_out(Stream& stream, std::span<std::byte> host, const void* device_memory) override;
  void fill_zero(Stream& stream, void* device_memory, int64_t bytes) override;

 private:
  std::byte* allocate(int64_t bytes) override;
  void release(std::byte* memory, int64_t bytes) noexcept override;

  ThreadPool pool_;
};

}  // namespace trireme::device
