#pragma once
#include <array>
#include <span>
#include <string>
#include <vector>

#include "comm/lanes.h"

namespace trireme::comm {

/// Which stations of a group's next collective may run: each queue belongs to the collectives in
/// the order of their starts, so one's messages go behind all of those before it.
struct Turns {
  bool lend = true;    ///< parts to be joined by others
  bool join = true;    ///< others' parts of this rank's slice
  bool hand = true;    ///< this rank's slice to all
  bool gather = true;  ///< the others' slices

  [[nodiscard]] bool any() const { return lend || join || hand || gather; }
};

/// One collective under way, as one rank sees it: lends its parts of the others' slices, joins its
/// own slice, hands that out, gathers the rest. Which of these a verb has is all that tells verbs
/// apart. Kept and begun again, so that it allocates nothing after its first uses.
class Collective {
 public:
  /// Allocates for groups and buffers up to these.
  void reserve(int ranks, int64_t bytes);
  /// Of its parts of such a buffer that may be on their way at once in one queue to a peer.
  [[nodiscard]] static size_t most_pieces(int ranks, int64_t bytes);
  void begin(const Lanes& lanes, const Exchange& exchange);
  /// Moves on as far as it gets with what is here, but not by more than some pieces. Returns
  /// whether there was more to do; takes from turns what the next collective may not do yet.
  bool step(Lanes& lanes, Turns& turns);
  [[nodiscard]] bool done() const;
  /// What is not here yet, and from whom.
  [[nodiscard]] std::string awaited(const Lanes& lanes) const;

 private:
  struct Peer {
    int64_t lent = 0;  // pieces, of the peer's slice
    int64_t handed = 0;
    int64_t gathered = 0;
    std::array<size_t, 2> on_their_way = {};  // pieces lent and handed that it has not received
  };
  struct Slice {
    std::byte* data;
    int64_t bytes;
    [[nodiscard]] int64_t pieces() const;
    [[nodiscard]] Slice piece(int64_t index) const;
  };
  struct Loan {
    Ticket ticket;
    int peer;
    int lane;
  };

  [[nodiscard]] Slice slice(int rank) const;
  [[nodiscard]] bool joins() const { return exchange_.verb != Verb::all_gather; }
  [[nodiscard]] bool gathers() const { return exchange_.verb != Verb::reduce_scatter; }
  // Each: whether the station is through.
  [[nodiscard]] bool lent_all() const;
  [[nodiscard]] bool joined_all() const;
  [[nodiscard]] bool handed_all() const;
  [[nodiscard]] bool gathered_all() const;

  void lend(Lanes& lanes);
  void join(Lanes& lanes, int64_t& budget);
  void hand(Lanes& lanes);
  void gather(Lanes& lanes, int64_t& budget);
  void collect_loans(Lanes& lanes);
  [[nodiscard]] bool may_send(int peer, int lane) const;
  void send(Lanes& lanes, int peer, int lane, const Slice& piece);

  Exchange exchange_;
  int rank_ = 0;
  std::vector<int64_t> cuts_;
  std::vector<Peer> peers_;
  std::vector<const float*> sources_;
  std::vector<Loan> loans_;
  int64_t joined_ = 0;  // pieces of this rank's slice
};

}  // namespace trireme::comm
