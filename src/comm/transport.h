#pragma once
#include <chrono>
#include <cstdint>
#include <span>
#include <string>

#include "comm/exchange.h"

namespace trireme::comm {

/// Between two members of a group there is one queue per kind of traffic for sends, one for the
/// parts that are joined, one for what was joined and goes to all.
inline constexpr int kLanes = static_cast<int>(kTraffics) + 2;
inline constexpr int kJoinLane = static_cast<int>(kTraffics);
inline constexpr int kGatherLane = static_cast<int>(kTraffics) + 1;

/// One first-in first-out queue of messages, as one of its ends sees it.
struct Route {
  int peer = 0;   ///< the other end: rank of the world
  int group = 0;  ///< its number (Transport::open_group)
  int lane = 0;
};

/// What a message says of itself. Its receiver knows what must come next and refuses all else.
struct Header {
  uint64_t sequence = 0;  ///< of this queue, from 0
  int64_t bytes = 0;      ///< of this message
  int64_t total = 0;      ///< of the exchange's buffer
  int from = 0;           ///< ranks of the world
  int to = 0;
  int group = 0;
  int lane = 0;
  Verb verb = Verb::send;
  Traffic traffic = Traffic::activation;
  program::Reduction reduction = program::Reduction::sum;
  Label what = {};

  bool operator==(const Header&) const = default;
};

/// A message that is here: its bytes may be read until pop().
struct Message {
  Header header;
  const std::byte* data = nullptr;
};

/// What stands for a message that was sent, until it was received.
using Ticket = uint64_t;

/// One rank's end of what moves bytes between the ranks of a world, and nothing else: what they
/// mean is comm/group.h's business. Nothing blocks but rest(). Used by the rank's own thread.
class Transport {
 public:
  Transport() = default;
  virtual ~Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  [[nodiscard]] virtual int rank() const = 0;  ///< in the world
  [[nodiscard]] virtual int size() const = 0;
  /// A rank with its place, as in "rank 5 (p1 t0 d1)".
  [[nodiscard]] virtual std::string name_of(int rank) const = 0;

  /// A number for a group of ranks of the world, in its order; the same at all its members, each of
  /// which opens it. Members open the groups that they share in the same order.
  [[nodiscard]] virtual int open_group(std::span<const int> ranks) = 0;

  /// Allocates for so many messages on their way at once in a queue, and as many in the one that
  /// leads back, beside those of other queues; where more are, it allocates then.
  virtual void reserve(const Route&, size_t) {}

  /// Lends bytes to the route's other end until received().
  [[nodiscard]] virtual Ticket send(const Route& route, const Header& header,
                                    const std::byte* data) = 0;
  /// Whether it was; then the ticket is void. Called inside enter() and leave().
  [[nodiscard]] virtual bool received(Ticket ticket) = 0;

  /// Takes in what came; from here to leave() what front() shows may be read. Throws when the world
  /// is at its end, naming the rank that failed, or when a message came to the wrong place.
  virtual void enter() = 0;
  virtual void leave() noexcept = 0;
  /// The oldest message of a queue; null where none is here. into: where its bytes may be put, if
  /// there are as many, by a transport that would have to copy them otherwise; then data is there.
  [[nodiscard]] virtual const Message* front(const Route& route, std::span<std::byte> into) = 0;
  virtual void pop(const Route& route) = 0;
  /// Whether the oldest message of a queue was sent, if its bytes are here or not; asks for none.
  [[nodiscard]] virtual bool knows_of(const Route& route) = 0;
  /// A message that is here and was never asked for, of any group but in this lane of this one;
  /// null where there is none.
  [[nodiscard]] virtual const Message* left_over(int but_group, int but_lane) = 0;

  /// Whether anything came, or was received, since the last enter(). Moves on what is under way.
  [[nodiscard]] virtual bool news() = 0;
  /// Sleeps until there is news, but not longer.
  virtual void rest(std::chrono::nanoseconds most) = 0;

  /// Ends the world: the other ranks throw, and touch nothing more that this one lent.
  virtual void withdraw() noexcept = 0;

  /// A wait of this rank ends with an exception: what it was at and waited for. For a world that
  /// can tell it when another one's patience was the first to end.
  virtual void note_wait(std::string) {}
};

}  // namespace trireme::comm
