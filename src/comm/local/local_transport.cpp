#include "comm/local/local_transport.h"

#include <thread>

#include "comm/lanes.h"
#include "core/error.h"
#include "core/format.h"

namespace trireme::comm {

LocalTransport::LocalTransport(LocalWorld::State& world, int rank) : world_(world), rank_(rank) {}

LocalTransport::~LocalTransport() {
  if (free_.size() < receipts_.size()) withdraw();
}

int LocalTransport::open_group(std::span<const int> ranks) {
  const std::vector<int> list(ranks.begin(), ranks.end());
  const auto group = static_cast<size_t>(world_.open_group(list, opened_[list]++));
  if (queues_.size() <= group) queues_.resize(group + 1);
  queues_[group].resize(static_cast<size_t>(size() * kLanes));
  std::vector<Parcel> early;
  early.swap(early_);
  for (const Parcel& parcel : early) put(parcel);
  return static_cast<int>(group);
}

void LocalTransport::reserve(const Route& route, size_t messages) {
  queue(route).reserve(messages);
  reserved_ += messages;
  // Both, since they take turns.
  came_.reserve(reserved_);
  {
    const std::lock_guard lock(box().mutex);
    box().parcels.reserve(reserved_);
  }
  free_.reserve(reserved_);
  while (receipts_.size() < reserved_) {
    free_.push_back(receipts_.size());
    receipts_.emplace_back(false);
  }
}

Ticket LocalTransport::send(const Route& route, const Header& header, const std::byte* data) {
  Ticket ticket = receipts_.size();
  if (free_.empty()) {
    receipts_.emplace_back(false);
  } else {
    ticket = free_.back();
    free_.pop_back();
    receipts_[ticket].store(false, std::memory_order_relaxed);
  }
  const Parcel parcel = {.from = {.peer = rank_, .group = route.group, .lane = route.lane},
                         .message = {header, data},
                         .received = &receipts_[ticket]};
  Box& to = world_.boxes[static_cast<size_t>(route.peer)];
  {
    const std::lock_guard lock(to.mutex);
    to.parcels.push_back(parcel);
  }
  to.tell();
  return ticket;
}

bool LocalTransport::received(Ticket ticket) {
  if (!receipts_[ticket].load(std::memory_order_acquire)) return false;
  free_.push_back(ticket);
  return true;
}

void LocalTransport::enter() {
  // Either the rank that ends the world sees the visit, or the visit sees the end.
  box().visits.store(true);
  const int ended_by = world_.ended_by.load();
  if (ended_by >= 0) {
    leave();
    fail({.where = "world",
          .what = ended_by == rank_ ? "this rank has left what was under way"
                                    : format("{} has failed", world_.name_of(ended_by)),
          .rule = "a rank that fails ends all",
          .remedy = "see its message"});
  }
  const uint32_t news = box().news.load();
  if (news == seen_) return;
  seen_ = news;
  {
    const std::lock_guard lock(box().mutex);
    came_.swap(box().parcels);
  }
  try {
    for (const Parcel& parcel : came_) {
      require_route(parcel.message.header, parcel.from, *this);
      put(parcel);
    }
  } catch (...) {
    leave();
    throw;
  }
  came_.clear();
}

void LocalTransport::put(const Parcel& parcel) {
  const auto group = static_cast<size_t>(parcel.from.group);
  if (group < queues_.size() && !queues_[group].empty()) {
    queue(parcel.from).push(parcel);
  } else {
    early_.push_back(parcel);
  }
}

void LocalTransport::leave() noexcept {
  box().visits.store(false);
}

Ring<Parcel>& LocalTransport::queue(const Route& route) {
  return queues_[static_cast<size_t>(route.group)]
                [static_cast<size_t>(route.peer * kLanes + route.lane)];
}

const Message* LocalTransport::front(const Route& route, std::span<std::byte>) {
  Ring<Parcel>& parcels = queue(route);
  return parcels.empty() ? nullptr : &parcels.front().message;
}

void LocalTransport::pop(const Route& route) {
  Ring<Parcel>& parcels = queue(route);
  std::atomic<bool>* received = parcels.front().received;
  parcels.pop();
  received->store(true, std::memory_order_release);
  world_.boxes[static_cast<size_t>(route.peer)].tell();
}

const Message* LocalTransport::left_over(int but_group, int but_lane) {
  if (!early_.empty()) return &early_.front().message;
  for (size_t group = 0; group < queues_.size(); ++group) {
    for (size_t i = 0; i < queues_[group].size(); ++i) {
      const bool but =
          static_cast<int>(group) == but_group && static_cast<int>(i % kLanes) == but_lane;
      Ring<Parcel>& parcels = queues_[group][i];
      if (!but && !parcels.empty()) return &parcels.front().message;
    }
  }
  return nullptr;
}

void LocalTransport::rest(std::chrono::nanoseconds most) {
  Box& own = box();
  own.sleeps.store(true);
  {
    std::unique_lock lock(own.mutex);
    own.wake.wait_for(lock, most, [&] { return own.news.load() != seen_; });
  }
  own.sleeps.store(false);
}

void LocalTransport::withdraw() noexcept {
  world_.end(rank_);
  for (Box& other : world_.boxes) {
    if (&other == &box()) continue;
    while (other.visits.load()) std::this_thread::yield();
  }
}

}  // namespace trireme::comm
