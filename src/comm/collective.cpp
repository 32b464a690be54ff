#include "comm/collective.h"

#include <algorithm>
#include <cstring>

#include "comm/order.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"

namespace trireme::comm {
namespace {

// Pieces that one step joins or gathers: a rank computes between steps.
constexpr int64_t kPiecesPerStep = 4;
// Pieces that are on their way at once in each of the two queues to a peer: a transport may hold
// them in memory of its own. Not one number for all peers: the slots of one that waits for others'
// parts would be missing for those it waits for.
constexpr size_t kOnTheirWay = 16;

// Where a peer's count of a queue stands.
size_t way_of(int lane) {
  return lane == kJoinLane ? 0 : 1;
}

}  // namespace

int64_t Collective::Slice::pieces() const {
  return pieces_of(bytes);
}

Collective::Slice Collective::Slice::piece(int64_t index) const {
  const int64_t begin = index * kPieceBytes;
  return {data + begin, std::min(kPieceBytes, bytes - begin)};
}

Collective::Slice Collective::slice(int rank) const {
  const int64_t begin = cuts_[static_cast<size_t>(rank)];
  return {exchange_.buffer + begin, cuts_[static_cast<size_t>(rank) + 1] - begin};
}

size_t Collective::most_pieces(int ranks, int64_t bytes) {
  const int64_t slice = cut(bytes, ranks, ranks) - cut(bytes, ranks, ranks - 1);
  return std::min(static_cast<size_t>(std::max<int64_t>(1, pieces_of(slice))), kOnTheirWay);
}

void Collective::reserve(int ranks, int64_t bytes) {
  const auto size = static_cast<size_t>(ranks);
  peers_.reserve(size);
  sources_.reserve(size);
  cuts_.reserve(size + 1);
  loans_.reserve(2 * most_pieces(ranks, bytes) * (size - 1));
}

void Collective::begin(const Lanes& lanes, const Exchange& exchange) {
  const auto size = static_cast<size_t>(lanes.size());
  exchange_ = exchange;
  rank_ = lanes.rank();
  joined_ = 0;
  peers_.assign(size, {});
  sources_.resize(size);
  loans_.clear();
  cuts_.resize(size + 1);
  TRIREME_ASSERT(exchange.cuts.empty() || exchange.cuts.size() == size + 1,
                 "there is a cut before each rank's slice and one behind the last");
  for (size_t r = 0; r <= size; ++r) {
    cuts_[r] = exchange.cuts.empty() ? cut(exchange.bytes, lanes.size(), static_cast<int>(r))
                                     : exchange.cuts[r];
  }
  TRIREME_ASSERT(cuts_.front() == 0 && cuts_.back() == exchange.bytes &&
                     std::is_sorted(cuts_.begin(), cuts_.end()),
                 "cuts ascend from 0 to the size of the buffer");
  TRIREME_ASSERT(
      !joins() || std::all_of(cuts_.begin(), cuts_.end(),
                              [](int64_t at) { return at % int64_t{sizeof(float)} == 0; }),
      "whole elements are added");
}

bool Collective::step(Lanes& lanes, Turns& turns) {
  int64_t budget = kPiecesPerStep;
  collect_loans(lanes);
  if (turns.lend) lend(lanes);
  if (turns.join) join(lanes, budget);
  if (turns.hand) hand(lanes);
  if (turns.gather) gather(lanes, budget);
  turns.lend = turns.lend && lent_all();
  turns.join = turns.join && joined_all();
  turns.hand = turns.hand && handed_all();
  turns.gather = turns.gather && gathered_all();
  return budget <= 0;
}

bool Collective::done() const {
  return lent_all() && joined_all() && handed_all() && gathered_all() && loans_.empty();
}

bool Collective::lent_all() const {
  if (!joins()) return true;
  for (int peer = 0; peer < static_cast<int>(peers_.size()); ++peer) {
    if (peer != rank_ && peers_[static_cast<size_t>(peer)].lent < slice(peer).pieces())
      return false;
  }
  return true;
}

bool Collective::joined_all() const {
  return !joins() || peers_.size() == 1 || joined_ == slice(rank_).pieces();
}

bool Collective::handed_all() const {
  if (!gathers()) return true;
  const int64_t pieces = slice(rank_).pieces();
  for (size_t peer = 0; peer < peers_.size(); ++peer) {
    if (static_cast<int>(peer) != rank_ && peers_[peer].handed < pieces) return false;
  }
  return true;
}

bool Collective::gathered_all() const {
  if (!gathers()) return true;
  for (int peer = 0; peer < static_cast<int>(peers_.size()); ++peer) {
    if (peer != rank_ && peers_[static_cast<size_t>(peer)].gathered < slice(peer).pieces())
      return false;
  }
  return true;
}

bool Collective::may_send(int peer, int lane) const {
  return peers_[static_cast<size_t>(peer)].on_their_way[way_of(lane)] < kOnTheirWay;
}

void Collective::send(Lanes& lanes, int peer, int lane, const Slice& piece) {
  loans_.push_back({lanes.send(peer, lane, exchange_, piece.data, piece.bytes), peer, lane});
  ++peers_[static_cast<size_t>(peer)].on_their_way[way_of(lane)];
}

void Collective::lend(Lanes& lanes) {
  if (!joins()) return;
  // In turns, so that no peer waits for another one's whole slice; each rank begins with its
  // neighbour, so that not all serve the same one.
  for (bool moved = true; moved;) {
    moved = false;
    for (int step = 1; step < lanes.size(); ++step) {
      const int peer = (rank_ + step) % lanes.size();
      int64_t& lent = peers_[static_cast<size_t>(peer)].lent;
      if (lent == slice(peer).pieces() || !may_send(peer, kJoinLane)) continue;
      send(lanes, peer, kJoinLane, slice(peer).piece(lent));
      ++lent;
      moved = true;
    }
  }
}

void Collective::join(Lanes& lanes, int64_t& budget) {
  while (!joined_all() && budget > 0) {
    const Slice piece = slice(rank_).piece(joined_);
    for (int peer = 0; peer < lanes.size(); ++peer) {
      const std::byte* data = piece.data;
      if (peer != rank_) {
        const Message* message = lanes.next(peer, kJoinLane, exchange_, piece.bytes);
        if (message == nullptr) return;
        data = message->data;
      }
      sources_[static_cast<size_t>(peer)] = reinterpret_cast<const float*>(data);
    }
    comm::join(reinterpret_cast<float*>(piece.data), sources_, piece.bytes / int64_t{sizeof(float)},
               exchange_.reduction);
    for (int peer = 0; peer < lanes.size(); ++peer) {
      if (peer != rank_) lanes.pop(peer, kJoinLane);
    }
    ++joined_;
    --budget;
  }
}

void Collective::hand(Lanes& lanes) {
  if (!gathers()) return;
  const int64_t ready = joins() ? joined_ : slice(rank_).pieces();
  for (bool moved = true; moved;) {
    moved = false;
    for (int step = 1; step < lanes.size(); ++step) {
      const int peer = (rank_ + step) % lanes.size();
      int64_t& handed = peers_[static_cast<size_t>(peer)].handed;
      if (handed == ready || !may_send(peer, kGatherLane)) continue;
      send(lanes, peer, kGatherLane, slice(rank_).piece(handed));
      ++handed;
      moved = true;
    }
  }
}

void Collective::gather(Lanes& lanes, int64_t& budget) {
  if (!gathers()) return;
  for (int step = 1; step < lanes.size(); ++step) {
    const int peer = (rank_ + step) % lanes.size();
    int64_t& gathered = peers_[static_cast<size_t>(peer)].gathered;
    for (; gathered < slice(peer).pieces() && budget > 0; ++gathered, --budget) {
      const Slice piece = slice(peer).piece(gathered);
      const Message* message = lanes.next(peer, kGatherLane, exchange_, piece.bytes, piece.data);
      if (message == nullptr) break;
      if (message->data != piece.data)
        std::memcpy(piece.data, message->data, static_cast<size_t>(piece.bytes));
      lanes.pop(peer, kGatherLane);
    }
  }
}

void Collective::collect_loans(Lanes& lanes) {
  std::erase_if(loans_, [&](const Loan& loan) {
    if (!lanes.transport().received(loan.ticket)) return false;
    --peers_[static_cast<size_t>(loan.peer)].on_their_way[way_of(loan.lane)];
    return true;
  });
}

std::string Collective::awaited(const Lanes& lanes) const {
  // Who has not sent its part holds up all the others; who has not handed out its slice may wait
  // itself.
  std::string parts;
  std::string whom;
  for (int peer = 0; peer < lanes.size(); ++peer) {
    if (peer == rank_) continue;
    const Peer& state = peers_[static_cast<size_t>(peer)];
    const bool unjoined = !joined_all() && !lanes.has_sent(peer, kJoinLane);
    const bool ungathered =
        gathers() && state.gathered < slice(peer).pieces() && !lanes.has_sent(peer, kGatherLane);
    const bool unreceived = std::any_of(loans_.begin(), loans_.end(),
                                        [&](const Loan& loan) { return loan.peer == peer; });
    if (!unjoined && !ungathered && !unreceived) continue;
    std::string& list = unjoined ? parts : whom;
    list += format("{}{}", list.empty() ? "" : ", ", lanes.name_of(peer));
  }
  if (!parts.empty()) whom = parts;
  return format("{} of {} ({}{}{}) in group {} with {}", name_of(exchange_.verb),
                bytes_text(static_cast<double>(exchange_.bytes)), name_of(exchange_.traffic),
                exchange_.what.text().empty() ? "" : ", ", exchange_.what.text(), lanes.name(),
                whom.empty() ? "all of it" : whom);
}

}  // namespace trireme::comm
