#include "engine/clock.h"

#include <cmath>
#include <cstdlib>

namespace trireme::engine {
namespace {

using comm::Traffic;

constexpr int kQuestions = 16;

// Sends one number, or receives it.
void exchange(comm::Communicator& group, device::Stream& stream, comm::Verb verb, int peer,
              int64_t& number) {
  try {
    group.wait(group.start(stream, {.verb = verb,
                                    .traffic = Traffic::agreement,
                                    .buffer = reinterpret_cast<std::byte*>(&number),
                                    .bytes = sizeof number,
                                    .peer = peer,
                                    .what = "clock"}),
               stream);
  } catch (...) {
    group.withdraw();  // from a number that goes with the caller
    throw;
  }
}

void answer(comm::Communicator& group, device::Stream& stream, int peer,
            const std::function<int64_t()>& now) {
  for (int i = 0; i < kQuestions; ++i) {
    int64_t number = 0;
    exchange(group, stream, comm::Verb::receive, peer, number);
    number = now();
    exchange(group, stream, comm::Verb::send, peer, number);
  }
}

}  // namespace

ClockReading read_first_clock(comm::Communicator& group, device::Stream& stream,
                              const std::function<int64_t()>& now) {
  if (group.rank() == 0) {
    for (int peer = 1; peer < group.size(); ++peer) answer(group, stream, peer, now);
    const int64_t time = now();
    return {.here = time, .first = time};
  }
  ClockReading best;
  for (int i = 0; i < kQuestions; ++i) {
    const int64_t asked = now();
    int64_t number = 0;
    exchange(group, stream, comm::Verb::send, 0, number);
    exchange(group, stream, comm::Verb::receive, 0, number);
    const int64_t half = (now() - asked + 1) / 2;
    if (i == 0 || half < best.uncertainty)
      best = {.here = asked + half, .first = number, .uncertainty = half};
  }
  return best;
}

ClockLine::ClockLine(const ClockReading& begin, const ClockReading& end) : origin_(begin.here) {
  const int64_t first = begin.first - begin.here;
  const int64_t last = end.first - end.here;
  // Of one host they are the same clock, and nothing else is that close.
  if (std::abs(first) <= begin.uncertainty && std::abs(last) <= end.uncertainty) return;
  offset_ = static_cast<double>(first);
  if (end.here > begin.here)
    drift_ = static_cast<double>(last - first) / static_cast<double>(end.here - begin.here);
}

int64_t ClockLine::on_first(int64_t here) const {
  return here + std::llround(offset_ + drift_ * static_cast<double>(here - origin_));
}

}  // namespace trireme::engine
