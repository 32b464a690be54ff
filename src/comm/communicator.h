#pragma once
#include <cstdint>
#include <span>

#include "program/op/collective.h"

namespace trireme::comm {

/// Something that was started and will complete. Made by a communicator, handed back to it; a
/// value.
struct Request {
  uint64_t number = 0;  ///< counts the communicator's requests from 1; 0: nothing to wait for
};

/// One group of ranks (the tensor group, say), seen from one of them. All ranks of a group start
/// their collectives in the same order. Nothing blocks but wait(): the rank's own thread calls
/// progress() between ops, so that what was started moves on.
///
/// Sums follow our own order on every transport (exchange slices, add in group-rank order, gather),
/// so that transports cannot change bits; volume is that of a ring. Every implementation supports
/// every verb or refuses when it is made.
class Communicator {
 public:
  Communicator() = default;
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  [[nodiscard]] virtual int rank() const = 0;  ///< in the group
  [[nodiscard]] virtual int size() const = 0;

  /// Joins the group's buffers in place. The buffer belongs to the communicator until wait()
  /// returns.
  [[nodiscard]] virtual Request start_all_reduce(std::span<float> buffer,
                                                 program::Reduction reduction) = 0;

  virtual void progress() = 0;
  /// Returns when the request is complete; throws, naming peer, place and request, when the
  /// deadline passes first.
  virtual void wait(Request request) = 0;
};

}  // namespace trireme::comm
