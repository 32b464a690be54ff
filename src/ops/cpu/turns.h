#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <thread>

namespace trireme::ops::cpu {

/// Lets tasks of one parallel_for add to the same sum in a fixed order, whichever threads run them:
/// task i of a sum waits until those before it have added. A pool hands out tasks in ascending
/// order, so whom a task waits for is already at work.
class Turns {
 public:
  /// Bytes of memory for so many sums.
  [[nodiscard]] static constexpr int64_t bytes(int64_t sums) {
    return (sums * static_cast<int64_t>(sizeof(Counter)) + 63) / 64 * 64;
  }
  /// Memory is the caller's, not initialised, and stays as long as the turns.
  Turns(std::byte* memory, int64_t sums) : done_(reinterpret_cast<Counter*>(memory)) {
    for (int64_t sum = 0; sum < sums; ++sum) new (done_ + sum) Counter(0);
  }

  void wait(int64_t sum, int64_t turn) const {
    constexpr int kSpins = 1000;
    for (int spin = 0; done_[sum].load(std::memory_order_acquire) != turn; ++spin) {
      if (spin > kSpins) std::this_thread::yield();
    }
  }
  void pass_on(int64_t sum) { done_[sum].fetch_add(1, std::memory_order_release); }

 private:
  using Counter = std::atomic<int32_t>;
  Counter* done_;
};

}  // namespace trireme::ops::cpu
