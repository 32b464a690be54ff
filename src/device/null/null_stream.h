#pragma once
#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include "device/device.h"

namespace trireme::device {

class NullDevice;

/// What a null stream has to do, in order, and how far it is.
struct NullQueue {
  std::deque<std::function<void()>> work;
  uint64_t queued = 0;
  uint64_t done = 0;

  void add(std::function<void()> more) {
    work.push_back(std::move(more));
    queued += 1;
  }
};

/// A point in a null stream: behind what had been queued when the mark was taken. A value; it may
/// outlive the stream.
struct NullMark {
  std::shared_ptr<NullQueue> queue = nullptr;  ///< none: nothing to wait for
  uint64_t count = 0;

  /// Does what is left up to here. What throws is the end of all that is queued behind it.
  void reach() const;
};

/// A lazy queue: nothing runs until somebody waits for it, the host, or a stream that is waited for
/// itself. So what is read, overwritten or freed without having been waited for shows every time,
/// where a real device would mostly have been fast enough.
class NullStream final : public Stream {
 public:
  explicit NullStream(NullDevice& device)
      : device_(device), queue_(std::make_shared<NullQueue>()) {}

  /// Drops what nobody waited for: two queues that wait for each other would keep each other.
  ~NullStream() override {
    std::deque<std::function<void()>> dropped;
    dropped.swap(queue_->work);
    queue_->done = queue_->queued;
  }
  NullStream(const NullStream&) = delete;
  NullStream& operator=(const NullStream&) = delete;

  void queue(std::function<void()> work) { queue_->add(std::move(work)); }
  /// What is queued from here on runs behind the mark.
  void wait(const NullMark& mark);
  [[nodiscard]] NullMark mark() const { return {queue_, queue_->queued}; }
  [[nodiscard]] NullDevice& device() const { return device_; }

 private:
  NullDevice& device_;
  std::shared_ptr<NullQueue> queue_;
};

class NullEvent final : public Event {
 public:
  NullMark mark;
};

}  // namespace trireme::device
