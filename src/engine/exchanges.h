#pragma once
#include <array>
#include <chrono>
#include <vector>

#include "comm/communicator.h"
#include "engine/groups.h"
#include "engine/host_times.h"
#include "engine/observer.h"

namespace trireme::engine {

/// An exchange from its start to its wait. A value; the first one is none.
struct UnderWay {
  RankGroup group = RankGroup::world;
  comm::Exchange exchange = {};
  comm::Request request = {};
  Time start = {};
  Time started = {};

  [[nodiscard]] bool is_none() const { return exchange.buffer == nullptr; }
};

/// The one way to the groups for all exchanges of a session's stream: starts them, waits for them,
/// keeps how long the host was busy with it, and tells the observers. Allocates nothing.
///
/// Users: the executor (collectives of programs, buckets), messages between stages, and what ranks
/// tell each other of a step.
class Exchanges {
 public:
  /// observers: who sees every wait; they outlive the exchanges, as groups and stream do.
  Exchanges(const Groups& groups, device::Stream& stream, const std::vector<Observer*>& observers)
      : groups_(groups), stream_(stream), observers_(observers) {}

  [[nodiscard]] UnderWay start(RankGroup group, const comm::Exchange& exchange);
  /// Each is waited for once; it is none from then on.
  void wait(UnderWay& one);
  /// Before memory goes that other ranks may be about to read or write, because something failed:
  /// from every exchange in every group, also one whose start did not come to its end
  /// (Communicator::withdraw).
  void withdraw() noexcept {
    for (size_t group = 0; group < kRankGroups; ++group)
      groups_[static_cast<RankGroup>(group)].withdraw();
  }
  /// Moves on what is under way in all groups.
  void progress() { groups_[RankGroup::world].progress(); }
  [[nodiscard]] const Groups& groups() const { return groups_; }

  /// By group, since the exchanges were made.
  [[nodiscard]] const std::array<ExchangeTime, kRankGroups>& times() const { return times_; }
  /// The shortest time that a message of most bytes took from its start to its receipt, and these
  /// bytes: how long one takes when nobody is late. Of messages that this rank sent; zero bytes
  /// where there were none.
  struct Message {
    int64_t bytes = 0;
    std::chrono::nanoseconds shortest = std::chrono::nanoseconds::max();
  };
  [[nodiscard]] const Message& message() const { return message_; }

 private:
  void note_message(int64_t bytes, std::chrono::nanoseconds time);

  Groups groups_;
  device::Stream& stream_;
  const std::vector<Observer*>& observers_;
  std::array<ExchangeTime, kRankGroups> times_ = {};
  Message message_;
};

}  // namespace trireme::engine
