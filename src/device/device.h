#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace trireme::device {

/// A queue of work on a device, in order. Owned by who makes it; work on it ends before it is
/// destroyed.
class Stream {
 public:
  Stream() = default;
  virtual ~Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
};

/// A point in a stream that other streams and the host may wait for: where it was last recorded.
/// One that was never recorded has happened.
class Event {
 public:
  Event() = default;
  virtual ~Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
};

class Device;

/// One allocation of a device: move-only owner, zero-filled, aligned to 4 KiB. Addresses belong to
/// the device, the host may not follow them except on a CPU.
class Arena {
 public:
  Arena() = default;
  Arena(Device& device, int64_t bytes);
  ~Arena();
  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&& other) noexcept;

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] int64_t bytes() const { return bytes_; }

 private:
  Device* device_ = nullptr;
  std::byte* data_ = nullptr;
  int64_t bytes_ = 0;
};

/// What the engine asks of a device. All work is asynchronous with respect to the host and ordered
/// by its stream; a device that works at once (the CPU) is a special case of that. Failures throw
/// Error with the device's own words.
class Device {
 public:
  virtual ~Device() = default;

  [[nodiscard]] virtual std::string_view name() const = 0;
  /// Bytes that can still be allocated.
  [[nodiscard]] virtual int64_t available_bytes() const = 0;

  [[nodiscard]] virtual std::unique_ptr<Stream> make_stream() = 0;
  [[nodiscard]] virtual std::unique_ptr<Event> make_event() = 0;

  virtual void record(Event& event, Stream& stream) = 0;
  /// What is queued on the stream from here on runs behind the event. The host goes on.
  virtual void wait(Stream& stream, const Event& event) = 0;
  /// Blocks the host until all work of the stream is done, or all that was queued before the event
  /// was recorded. A failure of that work is thrown here.
  virtual void synchronize(Stream& stream) = 0;
  virtual void synchronize(const Event& event) = 0;

  /// Host to device and back. The host memory must stay until the stream has passed the copy.
  virtual void copy_in(Stream& stream, void* device_memory, std::span<const std::byte> host) = 0;
  virtual void copy_out(Stream& stream, std::span<std::byte> host, const void* device_memory) = 0;
  virtual void fill_zero(Stream& stream, void* device_memory, int64_t bytes) = 0;

 private:
  friend class Arena;
  [[nodiscard]] virtual std::byte* allocate(int64_t bytes) = 0;
  virtual void release(std::byte* memory, int64_t bytes) noexcept = 0;
};

}  // namespace trireme::device
