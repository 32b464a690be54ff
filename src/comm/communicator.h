#pragma once
#include <cstdint>

#include "device/device.h"
#include "program/op/collective.h"

namespace trireme::comm {

/// Something that was started and will complete. Made by a communicator, handed back to it; a
/// value.
struct Request {
  uint64_t number = 0;  ///< counts the communicator's requests from 1; 0: nothing to wait for
};

/// One group of ranks (the tensor group, say), seen from one of them, over memory of one device.
/// All ranks of a group start their collectives in the same order.
///
/// Collectives are ordered with the device's streams, not with the host: a start runs behind what
/// is queued on its stream, and a wait puts what is queued on its stream afterwards behind the
/// result. Where streams work at once (a CPU) that makes wait() the place where the host blocks,
/// and the rank's own thread calls progress() between ops, so that what was started moves on. Where
/// they do not (a GPU), nothing blocks: the communicator has a stream of its own and uses events.
///
/// Sums follow our own order on every CPU transport (exchange slices, add in group-rank order,
/// gather), so that transports cannot change bits; volume is that of a ring. Every implementation
/// supports every verb or refuses when it is made.
class Communicator {
 public:
  Communicator() = default;
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  [[nodiscard]] virtual int rank() const = 0;  ///< in the group
  [[nodiscard]] virtual int size() const = 0;

  /// Joins the group's buffers in place, elements of device memory each. From this point of the
  /// stream to the wait() the buffer belongs to the communicator.
  [[nodiscard]] virtual Request start_all_reduce(device::Stream& stream, float* buffer,
                                                 int64_t elements,
                                                 program::Reduction reduction) = 0;

  virtual void progress() = 0;
  /// Each request is waited for once. Where the host blocks it throws, naming peer, place and
  /// request, when the deadline passes first.
  virtual void wait(Request request, device::Stream& stream) = 0;
};

}  // namespace trireme::comm
