#include "comm/lanes.h"

#include <algorithm>

#include "core/error.h"
#include "core/format.h"

namespace trireme::comm {
namespace {

constexpr const char* kRule = "both ends of a channel exchange the same in the same order";
constexpr const char* kRemedy =
    "ranks that run the same program with the same options never get here: compare these, and "
    "report it if they are equal";

Header header_of(const Exchange& exchange, int64_t bytes) {
  return {.bytes = bytes,
          .total = exchange.bytes,
          .verb = exchange.verb == Verb::receive ? Verb::send : exchange.verb,
          .traffic = exchange.traffic,
          .reduction = exchange.reduction,
          .what = exchange.what};
}

}  // namespace

Lanes::Lanes(Transport& transport, std::string name, std::vector<int> ranks)
    : transport_(transport), name_(std::move(name)), ranks_(std::move(ranks)) {
  const auto here = std::find(ranks_.begin(), ranks_.end(), transport.rank());
  TRIREME_ASSERT(here != ranks_.end(), "a group is made by its members");
  for (const int rank : ranks_) {
    TRIREME_ASSERT(
        rank >= 0 && rank < transport.size() && std::count(ranks_.begin(), ranks_.end(), rank) == 1,
        "a group is a list of different ranks of the world");
  }
  rank_ = static_cast<int>(here - ranks_.begin());
  group_ = transport.open_group(ranks_);
  sent_.resize(ranks_.size() * kLanes);
  taken_.resize(ranks_.size() * kLanes);
}

void Lanes::reserve(size_t messages, size_t parts) {
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == rank_) continue;
    for (int lane = 0; lane < kLanes; ++lane)
      transport_.reserve(route(peer, lane),
                         lane == kJoinLane || lane == kGatherLane ? parts : messages);
  }
}

Ticket Lanes::send(int peer, int lane, const Exchange& exchange, const std::byte* data,
                   int64_t bytes) {
  const Route to = route(peer, lane);
  Header header = header_of(exchange, bytes);
  header.sequence = sent_[index(peer, lane)]++;
  header.from = transport_.rank();
  header.to = to.peer;
  header.group = group_;
  header.lane = lane;
  bytes_sent_[exchange.traffic] += bytes;
  return transport_.send(to, header, data);
}

const Message* Lanes::next(int peer, int lane, const Exchange& exchange, int64_t bytes,
                           std::byte* into) {
  const Route from = route(peer, lane);
  const Message* message =
      transport_.front(from, {into, into == nullptr ? 0 : static_cast<size_t>(bytes)});
  if (message == nullptr) return nullptr;
  Header expected = header_of(exchange, bytes);
  expected.sequence = taken_[index(peer, lane)];
  expected.from = from.peer;
  expected.to = transport_.rank();
  expected.group = group_;
  expected.lane = lane;
  const Header& found = message->header;
  if (found == expected) return message;
  const char* fault = found.sequence < expected.sequence   ? ", which came before: it came twice"
                      : found.sequence > expected.sequence ? ", so one is missing"
                                                           : "";
  fail({.where = format("group {}, from {} to {}", name_, name_of(peer), name_of(rank_)),
        .what = format("{}{}; expected {}", text_of(found), fault, text_of(expected)),
        .rule = kRule,
        .remedy = kRemedy});
}

void Lanes::pop(int peer, int lane) {
  transport_.pop(route(peer, lane));
  ++taken_[index(peer, lane)];
}

std::string text_of(const Header& header) {
  const std::string_view part = header.lane == kJoinLane     ? "part to join of "
                                : header.lane == kGatherLane ? "part to gather of "
                                                             : "";
  return format("message {}: {}{} of {} bytes ({}{}{}), {} bytes", header.sequence, part,
                name_of(header.verb), header.total, name_of(header.traffic),
                header.what.text().empty() ? "" : ", ", header.what.text(), header.bytes);
}

void require_route(const Header& header, const Route& route, const Transport& at) {
  if (header.to == at.rank() && header.from == route.peer && header.group == route.group &&
      header.lane == route.lane)
    return;
  fail({.where = format("at {}, from {}", at.name_of(at.rank()), at.name_of(route.peer)),
        .what = format("{}, sent by {} to {} (group {}, queue {}), came here (group {}, queue {})",
                       text_of(header), at.name_of(header.from), at.name_of(header.to),
                       header.group, header.lane, route.group, route.lane),
        .rule = kRule,
        .remedy = kRemedy});
}

}  // namespace trireme::comm
