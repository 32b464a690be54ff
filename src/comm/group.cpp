#include "comm/group.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "core/format.h"
#include "core/log.h"

namespace trireme::comm {
namespace {

// A request's number: how often exchanges were started, and where the pending one lies.
constexpr uint64_t kPlaceBits = 20;
constexpr uint64_t kPlaceMask = (uint64_t{1} << kPlaceBits) - 1;

}  // namespace

GroupCommunicator::GroupCommunicator(Port& port, std::string name, std::vector<int> ranks)
    : port_(port), lanes_(*port.transport_, std::move(name), std::move(ranks)) {
  receives_.resize(static_cast<size_t>(size()) * kTraffics);
  port_.groups_.push_back(this);
}

GroupCommunicator::~GroupCommunicator() {
  withdraw();
  std::erase(port_.groups_, this);
}

void GroupCommunicator::withdraw() noexcept {
  if (!idle()) lanes_.transport().withdraw();
}

void GroupCommunicator::reserve(const MostUnderWay& most) {
  if (size() == 1) return;
  const size_t messages = kTraffics * (most.sends + most.receives);
  while (pending_.size() < most.collectives + messages)
    pending_.push_back(std::make_unique<Pending>());
  if (most.collectives > 0) {
    for (const auto& pending : pending_) pending->collective.reserve(size(), most.bytes);
  }
  collectives_.reserve(most.collectives);
  sends_.reserve(messages);
  for (Ring<Pending*>& queue : receives_) queue.reserve(most.receives);
  lanes_.reserve(most.sends, most.collectives * Collective::most_pieces(size(), most.bytes));
}

Request GroupCommunicator::start(device::Stream&, const Exchange& exchange) {
  TRIREME_ASSERT(exchange.bytes >= 0, "a buffer has a size");
  Pending& pending = take();
  pending.exchange = exchange;
  switch (exchange.verb) {
    case Verb::send:
      TRIREME_ASSERT(exchange.peer >= 0 && exchange.peer < size() && exchange.peer != rank(),
                     "a rank sends to another one of its group");
      pending.sequence = lanes_.sent(exchange.peer, static_cast<int>(exchange.traffic));
      pending.ticket = lanes_.send(exchange.peer, static_cast<int>(exchange.traffic), exchange,
                                   exchange.buffer, exchange.bytes);
      sends_.push_back(&pending);
      break;
    case Verb::receive:
      TRIREME_ASSERT(exchange.peer >= 0 && exchange.peer < size() && exchange.peer != rank(),
                     "a rank receives from another one of its group");
      pending.sequence = lanes_.taken(exchange.peer, static_cast<int>(exchange.traffic)) +
                         receives(exchange.peer, exchange.traffic).size();
      receives(exchange.peer, exchange.traffic).push(&pending);
      ++receiving_;
      break;
    case Verb::all_reduce:
    case Verb::reduce_scatter:
    case Verb::all_gather:
      pending.collective.begin(lanes_, exchange);
      collectives_.push_back(&pending);
      break;
  }
  port_.more_ = true;
  port_.progress();
  return {pending.number};
}

GroupCommunicator::Pending& GroupCommunicator::take() {
  auto free = std::find_if(pending_.begin(), pending_.end(),
                           [](const auto& pending) { return pending->number == 0; });
  if (free == pending_.end()) {
    TRIREME_ASSERT(pending_.size() < kPlaceMask, "exchanges are waited for");
    free = pending_.insert(free, std::make_unique<Pending>());
  }
  Pending& pending = **free;
  pending.number = ++uses_ << kPlaceBits | static_cast<uint64_t>(free - pending_.begin());
  pending.done = false;
  ++under_way_;
  return pending;
}

void GroupCommunicator::finish(Pending& pending) {
  pending.done = true;
  pending.completed = std::chrono::steady_clock::now();
  --under_way_;
}

bool GroupCommunicator::step() {
  if (!sends_.empty()) step_sends();
  if (receiving_ > 0) step_receives();
  return !collectives_.empty() && step_collectives();
}

void GroupCommunicator::step_sends() {
  std::erase_if(sends_, [&](Pending* pending) {
    if (!lanes_.transport().received(pending->ticket)) return false;
    finish(*pending);
    return true;
  });
}

void GroupCommunicator::step_receives() {
  for (Ring<Pending*>& queue : receives_) receive(queue);
}

void GroupCommunicator::receive(Ring<Pending*>& queue) {
  while (!queue.empty()) {
    const Exchange& exchange = queue.front()->exchange;
    const int lane = static_cast<int>(exchange.traffic);
    const Message* message =
        lanes_.next(exchange.peer, lane, exchange, exchange.bytes, exchange.buffer);
    if (message == nullptr) return;
    if (exchange.bytes > 0 && message->data != exchange.buffer)
      std::memcpy(exchange.buffer, message->data, static_cast<size_t>(exchange.bytes));
    lanes_.pop(exchange.peer, lane);
    finish(*queue.front());
    queue.pop();
    --receiving_;
  }
}

bool GroupCommunicator::step_collectives() {
  bool more = false;
  Turns turns;
  for (Pending* pending : collectives_) {
    if (!turns.any()) break;
    if (pending->collective.step(lanes_, turns)) more = true;
    if (pending->collective.done()) finish(*pending);
  }
  std::erase_if(collectives_, [](const Pending* pending) { return pending->done; });
  return more;
}

GroupCommunicator::Pending& GroupCommunicator::pending_of(Request request) const {
  const uint64_t place = request.number & kPlaceMask;
  TRIREME_ASSERT(place < pending_.size() && pending_[place]->number == request.number,
                 "each request is waited for once");
  return *pending_[place];
}

std::optional<std::chrono::steady_clock::time_point> GroupCommunicator::completed(
    Request request) const {
  if (request.number == 0) return std::nullopt;
  const Pending& pending = pending_of(request);
  return pending.done ? std::optional(pending.completed) : std::nullopt;
}

void GroupCommunicator::wait(Request request, device::Stream&) {
  if (request.number == 0) return;
  Pending& pending = pending_of(request);
  port_.wait([&] { return pending.done; }, [&] { return awaited(pending); });
  pending.number = 0;
}

std::string GroupCommunicator::awaited(const Pending& pending) {
  const Exchange& exchange = pending.exchange;
  if (exchange.verb == Verb::send || exchange.verb == Verb::receive) {
    return format("{} {} of message {} ({}{}{}) of {} in group {}",
                  exchange.verb == Verb::send ? "receipt by" : "arrival from",
                  lanes_.name_of(exchange.peer), pending.sequence, name_of(exchange.traffic),
                  exchange.what.text().empty() ? "" : ", ", exchange.what.text(),
                  bytes_text(static_cast<double>(exchange.bytes)), lanes_.name());
  }
  // What stands still is the oldest one, if another.
  std::string text = pending.collective.awaited(lanes_);
  if (!collectives_.empty() && collectives_.front() != &pending)
    text += format(", behind {}", collectives_.front()->collective.awaited(lanes_));
  return text;
}

}  // namespace trireme::comm
