#pragma once
#include <chrono>
#include <optional>

#include "comm/exchange.h"
#include "device/device.h"

namespace trireme::comm {

/// One group of ranks (the tensor group, say), seen from one of them, over memory of one device.
/// All ranks of a group start their collectives in the same order; sends and receives pair up first
/// in, first out per (sender, receiver, kind of traffic). A send completes when it was received.
///
/// Exchanges are ordered with the device's streams, not with the host: a start runs behind what is
/// queued on its stream, and a wait puts what is queued on its stream afterwards behind the result.
/// Where streams work at once (a CPU) that makes wait() the place where the host blocks, and the
/// rank's own thread calls progress() between ops, so that what was started moves on. Where they do
/// not (a GPU), nothing blocks: the communicator has a stream of its own and uses events.
///
/// Sums follow our own order on every CPU transport (comm/order.h), so that transports cannot
/// change bits; volume is that of a ring. Every implementation supports every verb or refuses when
/// it is made.
///
/// Users, one each: a row-parallel layer adds its activations (all_reduce, its two halves under
/// sequence parallelism); the data group adds a bucket of gradients (all_reduce; reduce_scatter and
/// all_gather with an optimizer that is cut over the ranks); stages send boundaries. Squares of the
/// norm are doubles, which are gathered as bytes and added by each rank in its own loop.
class Communicator {
 public:
  Communicator() = default;
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  [[nodiscard]] virtual int rank() const = 0;  ///< in the group
  [[nodiscard]] virtual int size() const = 0;

  /// Allocates what exchanges need besides their buffers, as long as no more are under way; where
  /// more are, it is allocated then. For the loop that must not allocate.
  virtual void reserve(const MostUnderWay&) {}

  /// From this point of the stream to the wait() the buffer belongs to the communicator.
  [[nodiscard]] virtual Request start(device::Stream& stream, const Exchange& exchange) = 0;

  /// Moves on what was started, in all groups of this rank. Cheap where there is nothing. Throws
  /// when another rank failed, or when a message is not what its channel expects.
  virtual void progress() = 0;
  /// Each request is waited for once, in any order. Where the host blocks it throws, naming peer,
  /// place and request, when the deadline passes first.
  virtual void wait(Request request, device::Stream& stream) = 0;

  /// When what was asked for was complete; nothing while it is under way, and where the host does
  /// not know. Asked before its wait.
  [[nodiscard]] virtual std::optional<std::chrono::steady_clock::time_point> completed(
      Request) const {
    return std::nullopt;
  }

  /// For who must free a buffer before its wait, because something failed: no other rank touches
  /// this rank's buffers afterwards, and nothing more can be exchanged. Does nothing where nothing
  /// is under way.
  virtual void withdraw() noexcept = 0;

  [[nodiscard]] virtual BytesSent bytes_sent() const = 0;

  /// What the rank is at, as in "1F3", for the messages of its waits.
  virtual void set_action(std::string_view) {}

  /// Joins the group's buffers in place.
  [[nodiscard]] Request start_all_reduce(device::Stream& stream, float* buffer, int64_t elements,
                                         program::Reduction reduction,
                                         Traffic traffic = Traffic::activation) {
    return start(stream, {.verb = Verb::all_reduce,
                          .traffic = traffic,
                          .reduction = reduction,
                          .buffer = reinterpret_cast<std::byte*>(buffer),
                          .bytes = elements * int64_t{sizeof(float)}});
  }
  /// Leaves the group's sum in this rank's slice of its buffer; the other slices keep what they
  /// had. Cuts are multiples of 4.
  [[nodiscard]] Request start_reduce_scatter(device::Stream& stream, float* buffer,
                                             int64_t elements, Traffic traffic,
                                             std::span<const int64_t> cuts = {}) {
    return start(stream, {.verb = Verb::reduce_scatter,
                          .traffic = traffic,
                          .buffer = reinterpret_cast<std::byte*>(buffer),
                          .bytes = elements * int64_t{sizeof(float)},
                          .cuts = cuts});
  }
  /// Fills the other ranks' slices with what they have there.
  [[nodiscard]] Request start_all_gather(device::Stream& stream, void* buffer, int64_t bytes,
                                         Traffic traffic, std::span<const int64_t> cuts = {}) {
    return start(stream, {.verb = Verb::all_gather,
                          .traffic = traffic,
                          .buffer = static_cast<std::byte*>(buffer),
                          .bytes = bytes,
                          .cuts = cuts});
  }
  [[nodiscard]] Request start_send(device::Stream& stream, int peer, const void* buffer,
                                   int64_t bytes, Traffic traffic, Label what = {}) {
    return start(
        stream,
        {.verb = Verb::send,
         .traffic = traffic,
         .buffer = const_cast<std::byte*>(static_cast<const std::byte*>(buffer)),  // only read
         .bytes = bytes,
         .peer = peer,
         .what = what});
  }
  [[nodiscard]] Request start_receive(device::Stream& stream, int peer, void* buffer, int64_t bytes,
                                      Traffic traffic, Label what = {}) {
    return start(stream, {.verb = Verb::receive,
                          .traffic = traffic,
                          .buffer = static_cast<std::byte*>(buffer),
                          .bytes = bytes,
                          .peer = peer,
                          .what = what});
  }
};

}  // namespace trireme::comm
