#pragma once
#include <string>
#include <vector>

#include "comm/transport.h"

namespace trireme::comm {

/// The messages of one group, as one member sees them: gives each its header and counts it where it
/// is sent; refuses what is not the next of its queue, naming both ends. Peers are ranks of the
/// group.
class Lanes {
 public:
  /// ranks: of the world, in the group's order; this transport's among them.
  Lanes(Transport& transport, std::string name, std::vector<int> ranks);

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return static_cast<int>(ranks_.size()); }
  [[nodiscard]] int number() const { return group_; }  ///< Transport::open_group
  [[nodiscard]] const std::string& name() const { return name_; }
  /// As in "rank 5 (p1 t0 d1)".
  [[nodiscard]] std::string name_of(int peer) const {
    return transport_.name_of(ranks_[static_cast<size_t>(peer)]);
  }
  [[nodiscard]] const BytesSent& bytes_sent() const { return bytes_sent_; }
  [[nodiscard]] Transport& transport() const { return transport_; }

  /// Allocates for so many messages of each kind, and parts of collectives in each of their two
  /// queues, on their way to each peer and from it.
  void reserve(size_t messages, size_t parts);

  /// Lends a part of an exchange to a peer.
  [[nodiscard]] Ticket send(int peer, int lane, const Exchange& exchange, const std::byte* data,
                            int64_t bytes);
  /// The next message from a peer if it is here; null otherwise. Throws if it is not the next one
  /// of such an exchange, with so many bytes. into: room for them, or null (Transport::front).
  [[nodiscard]] const Message* next(int peer, int lane, const Exchange& exchange, int64_t bytes,
                                    std::byte* into = nullptr);
  /// Done with it.
  void pop(int peer, int lane);
  /// Messages of a queue so far.
  [[nodiscard]] uint64_t sent(int peer, int lane) const { return sent_[index(peer, lane)]; }
  [[nodiscard]] uint64_t taken(int peer, int lane) const { return taken_[index(peer, lane)]; }
  /// Whether a peer has sent its next message, whatever it is.
  [[nodiscard]] bool has_sent(int peer, int lane) const {
    return transport_.knows_of(route(peer, lane));
  }

 private:
  [[nodiscard]] size_t index(int peer, int lane) const {
    return static_cast<size_t>(peer * kLanes + lane);
  }
  [[nodiscard]] Route route(int peer, int lane) const {
    return {.peer = ranks_[static_cast<size_t>(peer)], .group = group_, .lane = lane};
  }

  Transport& transport_;
  std::string name_;
  std::vector<int> ranks_;
  int rank_;
  int group_;
  std::vector<uint64_t> sent_;   // messages, by peer and lane
  std::vector<uint64_t> taken_;  // the same
  BytesSent bytes_sent_;
};

/// As in "message 3: join part of all_reduce of 400 bytes (gradient, bucket 2), 200 bytes".
[[nodiscard]] std::string text_of(const Header& header);

/// Throws unless the header says that it was sent along this route to this rank: a message that
/// strayed is nobody's.
void require_route(const Header& header, const Route& route, const Transport& at);

}  // namespace trireme::comm
