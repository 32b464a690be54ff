#include "comm/mpi/mpi_transport.h"

#include <algorithm>
#include <cstring>
#include <thread>

#include "comm/lanes.h"
#include "core/error.h"
#include "core/format.h"

namespace trireme::comm::mpi {
namespace {

using std::chrono::microseconds;

// MPI has no sleep that a message ends, so a rest is a row of short ones.
constexpr microseconds kFirstNap{10};
constexpr microseconds kLongestNap{100};

}  // namespace

MpiTransport::MpiTransport(Wire& wire, std::vector<std::string> places, MpiLimits limits)
    : wire_(wire),
      places_(std::move(places)),
      limits_(limits),
      pushed_(static_cast<size_t>(wire.size())) {
  TRIREME_ASSERT(places_.empty() || places_.size() == static_cast<size_t>(size()),
                 "each rank has a place");
}

MpiTransport::~MpiTransport() {
  if (free_loans_.size() < loans_.size()) withdraw();
  if (const Message* message = left_over(-1, -1)) wire_.note_unasked(message->header);
}

std::string MpiTransport::name_of(int rank) const {
  if (places_.empty()) return format("rank {}", rank);
  return format("rank {} ({})", rank, places_[static_cast<size_t>(rank)]);
}

int number_of_group(std::span<const int> ranks, int times) {
  uint64_t value = 0;
  const auto mix = [&](int number) {  // a step of SplitMix64
    value += 0x9e3779b97f4a7c15u + static_cast<uint64_t>(number);
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
    value = (value ^ value >> 27) * 0x94d049bb133111ebu;
    value ^= value >> 31;
  };
  mix(times);
  for (const int rank : ranks) mix(rank);
  return static_cast<int>(value >> 33);
}

int MpiTransport::open_group(std::span<const int> ranks) {
  const std::vector<int> list(ranks.begin(), ranks.end());
  const int number = number_of_group(ranks, opened_[list]++);
  const auto [place, is_new] = queues_.try_emplace(number);
  if (!is_new) {
    fail({.where = format("a group of {} ranks", ranks.size()),
          .what = format("its number, {}, is that of another group of this rank", number),
          .rule = "groups are told apart by a digest of their ranks",
          .remedy = "use another number of ranks, and report this"});
  }
  place->second.resize(static_cast<size_t>(size() * kLanes));
  std::vector<Arrival*> early;
  early.swap(early_);
  for (Arrival* arrival : early) put(arrival);
  return number;
}

// Tickets are given again after their receipt only, so no two transfers between two ranks have the
// same tag. 0 is that of frames.
int64_t MpiTransport::tag_of(Ticket ticket) const {
  const auto tag = static_cast<int64_t>(ticket) + 1;
  if (tag > wire_.largest_tag()) {
    fail({.where = "MPI",
          .what = format("more than {} messages of one rank are under way", wire_.largest_tag()),
          .rule = "this MPI has no more tags",
          .remedy = "use fewer microbatches in flight, or Open MPI, which has 2^31 tags"});
  }
  return tag;
}

Ticket MpiTransport::send(const Route& route, const Header& header, const std::byte* data) {
  if (free_loans_.empty()) {
    free_loans_.push_back(loans_.size());
    loans_.emplace_back();
  }
  const Ticket ticket = free_loans_.back();
  free_loans_.pop_back();
  Loan& loan = loans_[ticket];
  loan = {.peer = route.peer, .data = data, .bytes = header.bytes};
  Frame frame = {.kind = FrameKind::message,
                 .group = route.group,
                 .lane = route.lane,
                 .ticket = ticket,
                 .header = header};
  const bool inside = header.bytes <= Frame::kMostInside;
  int64_t& pushed = pushed_[static_cast<size_t>(route.peer)];
  loan.follows = !inside && pushed + header.bytes <= limits_.pushed;
  frame.follows = loan.follows ? 1 : 0;
  if (inside && header.bytes > 0)
    std::memcpy(frame.inside.data(), data, static_cast<size_t>(header.bytes));
  wire_.send_frame(route.peer, frame, inside ? header.bytes : 0);
  if (loan.follows) {
    pushed += header.bytes;
    follow(loan, ticket);
  }
  return ticket;
}

void MpiTransport::follow(Loan& loan, Ticket ticket) {
  wire_.send(loan.peer, tag_of(ticket), loan.data, loan.bytes, loan.open);
}

bool MpiTransport::received(Ticket ticket) {
  const Loan& loan = loans_[ticket];
  if (!loan.received || loan.open > 0) return false;
  free_loans_.push_back(ticket);
  return true;
}

bool MpiTransport::news() {
  if (wire_.poll()) news_ = true;
  return news_;
}

void MpiTransport::enter() {
  // What ended the world was told before any memory that was lent went. So bytes are looked at only
  // when nothing more is to be heard.
  for (bool more = true; more;) {
    if (wire_.stopped_by() >= 0) break;
    more = wire_.poll();
    int peer = 0;
    while (const Frame* frame = wire_.front(peer)) {
      more = true;
      handle(*frame, peer);
      wire_.pop();
    }
  }
  news_ = false;
  if (wire_.stopped_by() >= 0) {
    fail({.where = "world",
          .what = wire_.stopped_by() == rank()
                      ? "this rank has left what was under way"
                      : format("{} has failed", name_of(wire_.stopped_by())),
          .rule = "a rank that fails ends all",
          .remedy = "see its message"});
  }
}

void MpiTransport::handle(const Frame& frame, int peer) {
  switch (frame.kind) {
    case FrameKind::message:
      arrive(frame, peer);
      return;
    case FrameKind::fetch:
      follow(loans_[frame.ticket], frame.ticket);
      return;
    case FrameKind::receipt: {
      Loan& loan = loans_[frame.ticket];
      loan.received = true;
      if (loan.follows) pushed_[static_cast<size_t>(peer)] -= loan.bytes;
      return;
    }
    case FrameKind::end:
      wire_.stop(peer);
      return;
    case FrameKind::leave:
      wire_.note_leave(peer);
      return;
  }
}

void MpiTransport::arrive(const Frame& frame, int peer) {
  if (free_arrivals_.empty()) free_arrivals_.push_back(&arrivals_.emplace_back());
  Arrival* const arrival = free_arrivals_.back();
  const int64_t bytes = frame.header.bytes;
  arrival->message = {.header = frame.header, .data = arrival->inside.data()};
  arrival->from = {.peer = peer, .group = frame.group, .lane = frame.lane};
  arrival->number = arrived_++;
  arrival->ticket = frame.ticket;
  require_route(frame.header, arrival->from, *this);
  free_arrivals_.pop_back();
  arrival->held = bytes > Frame::kMostInside && frame.follows == 0;
  if (frame.follows != 0) {
    land(*arrival);
  } else if (!arrival->held) {
    arrival->inside = frame.inside;
  } else if (bytes <= limits_.pushed) {
    held_.push({arrival, arrival->number});
    fetch_what_fits();
  }
  put(arrival);
}

void MpiTransport::put(Arrival* arrival) {
  if (queues_.count(arrival->from.group) != 0) {
    queue(arrival->from).push(arrival);
  } else {
    early_.push_back(arrival);
  }
}

void MpiTransport::land(Arrival& arrival) {
  const int64_t bytes = arrival.message.header.bytes;
  arrival.block = wire_.buffers().take(bytes);
  arrival.message.data = arrival.block.data;
  wire_.receive(arrival.from.peer, tag_of(arrival.ticket), arrival.block.data, bytes, arrival.open);
}

void MpiTransport::fetch(Arrival& arrival, std::span<std::byte> into) {
  arrival.held = false;
  if (static_cast<int64_t>(into.size()) == arrival.message.header.bytes) {
    arrival.message.data = into.data();
    wire_.receive(arrival.from.peer, tag_of(arrival.ticket), into.data(),
                  arrival.message.header.bytes, arrival.open);
  } else {
    land(arrival);
  }
  tell(arrival.from.peer, FrameKind::fetch, arrival.ticket);
}

void MpiTransport::fetch_what_fits() {
  for (; !held_.empty(); held_.pop()) {
    Arrival& oldest = *held_.front().arrival;
    if (!oldest.held || oldest.number != held_.front().number) continue;
    const int64_t bytes = oldest.message.header.bytes;
    if (in_room_ + bytes > limits_.room) return;
    in_room_ += bytes;
    oldest.in_room = true;
    fetch(oldest, {});
  }
}

void MpiTransport::tell(int peer, FrameKind kind, Ticket ticket) {
  wire_.send_frame(peer, {.kind = kind, .ticket = ticket});
}

Ring<MpiTransport::Arrival*>& MpiTransport::queue(const Route& route) {
  return queues_.find(route.group)->second[static_cast<size_t>(route.peer * kLanes + route.lane)];
}

const Message* MpiTransport::front(const Route& route, std::span<std::byte> into) {
  Ring<Arrival*>& arrivals = queue(route);
  if (arrivals.empty()) return nullptr;
  Arrival& oldest = *arrivals.front();
  if (oldest.held) fetch(oldest, into);
  return oldest.open > 0 ? nullptr : &oldest.message;
}

void MpiTransport::pop(const Route& route) {
  Ring<Arrival*>& arrivals = queue(route);
  Arrival* const oldest = arrivals.front();
  arrivals.pop();
  tell(route.peer, FrameKind::receipt, oldest->ticket);
  if (oldest->block.data != nullptr) wire_.buffers().give(oldest->block);
  oldest->block = {};
  if (oldest->in_room) in_room_ -= oldest->message.header.bytes;
  oldest->in_room = false;
  free_arrivals_.push_back(oldest);
  fetch_what_fits();
}

const Message* MpiTransport::left_over(int but_group, int but_lane) {
  if (!early_.empty()) return &early_.front()->message;
  for (auto& [group, queues] : queues_) {
    for (size_t i = 0; i < queues.size(); ++i) {
      const bool but = group == but_group && static_cast<int>(i % kLanes) == but_lane;
      if (!but && !queues[i].empty()) return &queues[i].front()->message;
    }
  }
  return nullptr;
}

void MpiTransport::rest(std::chrono::nanoseconds most) {
  const auto end = std::chrono::steady_clock::now() + most;
  std::chrono::nanoseconds nap = kFirstNap;
  while (!news()) {
    const std::chrono::nanoseconds left = end - std::chrono::steady_clock::now();
    if (left <= left.zero()) return;
    std::this_thread::sleep_for(std::min(nap, left));
    nap = std::min<std::chrono::nanoseconds>(2 * nap, kLongestNap);
  }
}

void MpiTransport::withdraw() noexcept {
  if (wire_.stopped_by() >= 0) return;
  wire_.stop(rank());
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == rank()) continue;
    try {
      tell(peer, FrameKind::end, 0);
    } catch (...) {  // who cannot be told is ended by the launcher
    }
  }
}

}  // namespace trireme::comm::mpi
