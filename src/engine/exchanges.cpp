#include "engine/exchanges.h"

#include <algorithm>

namespace trireme::engine {

using std::chrono::steady_clock;

UnderWay Exchanges::start(RankGroup group, const comm::Exchange& exchange) {
  UnderWay one = {.group = group, .exchange = exchange, .start = steady_clock::now()};
  one.request = groups_[group].start(stream_, exchange);
  one.started = steady_clock::now();
  times_[static_cast<size_t>(group)].starting += one.started - one.start;
  return one;
}

void Exchanges::wait(UnderWay& one) {
  comm::Communicator& group = groups_[one.group];
  const std::optional<Time> before = group.completed(one.request);
  const Time wait = steady_clock::now();
  group.wait(one.request, stream_);
  const Time waited = steady_clock::now();
  ExchangeTime& time = times_[static_cast<size_t>(one.group)];
  time.waiting += waited - wait;
  if (!before) ++time.waits;
  const Time completed = std::max(before.value_or(waited), one.started);
  if (one.exchange.verb == comm::Verb::send)
    note_message(one.exchange.bytes, completed - one.start);
  const ExchangeRecord record = {.group = one.group,
                                 .exchange = one.exchange,
                                 .start = one.start,
                                 .started = one.started,
                                 .completed = completed,
                                 .wait = wait,
                                 .waited = waited};
  for (Observer* observer : observers_) observer->exchange(record);
  one = {};
}

void Exchanges::note_message(int64_t bytes, std::chrono::nanoseconds time) {
  if (bytes < message_.bytes) return;
  if (bytes > message_.bytes) message_ = {.bytes = bytes};
  message_.shortest = std::min(message_.shortest, time);
}

}  // namespace trireme::engine
