#pragma once
#include <vector>

#include "schedule/action.h"

// What a rank's schedule needs of memory. Functions of that rank's valid schedule alone.

namespace trireme::schedule {

/// Which slots a microbatch uses, and how many of them there are. Always the lowest free one.
struct SlotAssignment {
  /// Activations, a chunk's own: taken by the forward and free behind the weight gradient (of a
  /// forward-only schedule: behind the forward).
  std::vector<std::vector<int>> slot;  ///< [chunk][microbatch]
  std::vector<int> in_flight;          ///< [chunk], most microbatches at once
  int chunks_in_flight = 0;            ///< most activations of a chunk at once, over all chunks
  /// Batch fields, shared by the rank's chunks: taken by a microbatch's first action and free
  /// behind its last, whichever chunks those are of.
  std::vector<int> batch_slot;  ///< [microbatch]
  int batch_slots = 0;          ///< most microbatches at once
};
[[nodiscard]] SlotAssignment assign_slots(const Schedule& schedule);

/// A rank has so many buffers for what it sends on a channel: one is filled while the other is
/// under way. The computing that makes the message after the next waits until the first arrived.
inline constexpr int kSendBuffers = 2;

/// The buffers of one kind of message on one side; no entry where there is no such message.
struct MessageSlots {
  std::vector<std::vector<int>> slot;  ///< [chunk][microbatch], -1: none
  int count = 0;
};

/// Which buffers the messages of a rank use.
struct BufferAssignment {
  /// In turn, in the order in which they are sent.
  MessageSlots send_activation;
  MessageSlots send_gradient;
  /// Taken by the receive, the lowest free one, and free behind the weight gradient, the last to
  /// read an activation and a gradient (of a forward-only schedule: behind the forward).
  MessageSlots receive_activation;
  MessageSlots receive_gradient;
};
[[nodiscard]] BufferAssignment assign_buffers(const Schedule& schedule);

}  // namespace trireme::schedule
