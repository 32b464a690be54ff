#include "comm/record/faulty_transport.h"

#include <algorithm>

namespace trireme::comm {
namespace {

constexpr Ticket kLost = ~Ticket{0};
// Tickets of late messages are marked: the rest is their place.
constexpr Ticket kLateBit = Ticket{1} << 62;

}  // namespace

Ticket FaultyTransport::send(const Route& route, const Header& header, const std::byte* data) {
  const size_t number = sent_.headers.size();
  const bool planted = plant_.all ? number >= plant_.message : number == plant_.message;
  sent_.headers.push_back(header);
  const Fault fault = planted ? plant_.fault : Fault::none;
  if (fault == Fault::delay) until_ = Clock::now() + kDelay;
  if (fault == Fault::delay || !late_.empty()) {
    late_.push({route, header, data, tickets_.size()});
    tickets_.push_back(kLost);
    return kLateBit | late_.at(late_.size() - 1).place;
  }
  Route there = route;
  switch (fault) {
    case Fault::drop:
      return kLost;
    case Fault::twice: {
      // The sender goes by the first one.
      const Ticket first = inner_->send(route, header, data);
      static_cast<void>(inner_->send(route, header, data));
      return first;
    }
    case Fault::to_other_rank:
      there.peer = (route.peer + 1) % size();
      break;
    case Fault::to_other_lane:
      there.lane = (route.lane + 1) % kLanes;
      break;
    case Fault::none:
    case Fault::delay:
      break;
  }
  return inner_->send(there, header, data);
}

bool FaultyTransport::received(Ticket ticket) {
  if (ticket == kLost) return false;
  if ((ticket & kLateBit) == 0) return inner_->received(ticket);
  const Ticket own = tickets_[ticket & ~kLateBit];
  return own != kLost && inner_->received(own);
}

void FaultyTransport::enter() {
  if (!late_.empty() && Clock::now() >= until_) {
    for (; !late_.empty(); late_.pop()) {
      const Late& late = late_.front();
      tickets_[late.place] = inner_->send(late.route, late.header, late.data);
    }
  }
  inner_->enter();
}

void FaultyTransport::rest(std::chrono::nanoseconds most) {
  inner_->rest(late_.empty() ? most : std::min<std::chrono::nanoseconds>(most, kDelay / 10));
}

}  // namespace trireme::comm
