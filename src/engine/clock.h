#pragma once
#include <chrono>
#include <functional>

#include "comm/communicator.h"

namespace trireme::engine {

/// What a rank knows of the first rank's clock at some moment: nanoseconds of the two clocks at
/// once, give or take the uncertainty.
struct ClockReading {
  int64_t here = 0;
  int64_t first = 0;
  int64_t uncertainty = 0;
};

/// The host's steady clock, in nanoseconds.
[[nodiscard]] inline int64_t steady_nanoseconds() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

/// Ranks on several hosts have clocks of their own. Each rank asks the first one for the time, some
/// times, and keeps the answer that came quickest: what it says was then, half way, by less than
/// half of that time. Called by all members of a group over host memory; 16 bytes go each time,
/// Traffic::agreement. now: this rank's clock.
[[nodiscard]] ClockReading read_first_clock(
    comm::Communicator& group, device::Stream& stream,
    const std::function<int64_t()>& now = steady_nanoseconds);

/// A rank's times on the first rank's clock, from readings at the begin and at the end: between
/// them both clocks run evenly.
class ClockLine {
 public:
  ClockLine(const ClockReading& begin, const ClockReading& end);

  [[nodiscard]] int64_t on_first(int64_t here) const;

 private:
  int64_t origin_ = 0;
  double offset_ = 0;  // at the origin
  double drift_ = 0;   // nanoseconds per nanosecond
};

}  // namespace trireme::engine
