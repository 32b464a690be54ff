#pragma once
#include "schedule/action.h"

namespace trireme::schedule {

/// What a generator needs to know: p stages, m microbatches, and which stage this rank is.
struct PipelineShape {
  int stages = 1;        ///< p
  int microbatches = 1;  ///< m
};

/// 1F1B, PipeDream-Flush: min(m, p - r - 1) warm-up forwards, one forward and one backward in turn,
/// the remaining backwards, then the step. At most p - r microbatches in flight. Source: SC'21
/// section 2.2.1.
[[nodiscard]] Schedule one_forward_one_backward(PipelineShape shape, int pipeline_rank);

/// All forwards of one chunk, no backward, no step: evaluation.
[[nodiscard]] Schedule forward_only(int microbatches);

/// Throws, naming the action, unless every microbatch goes forward and then backward exactly once
/// per chunk (or only forward everywhere), input gradient before weight gradient, in ascending
/// order of microbatches per chunk and kind, and a step stands last where there are backwards.
void validate(const Schedule& schedule);

/// Which slots a microbatch uses, and how many of them there are. Always the lowest free one.
struct SlotAssignment {
  /// Activations, a chunk's own: taken by the forward and free behind the weight gradient (of a
  /// forward-only schedule: behind the forward).
  std::vector<std::vector<int>> slot;  ///< [chunk][microbatch]
  std::vector<int> in_flight;          ///< [chunk], most microbatches at once
  /// Batch fields, shared by the rank's chunks: taken by a microbatch's first action and free
  /// behind its last, whichever chunks those are of.
  std::vector<int> batch_slot;  ///< [microbatch]
  int batch_slots = 0;          ///< most microbatches at once
};
[[nodiscard]] SlotAssignment assign_slots(const Schedule& schedule);

}  // namespace trireme::schedule
