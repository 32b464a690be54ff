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

/// Most microbatches whose forward has run and whose backward has not, per chunk: it sizes the
/// activation memory. Counts from the forward to the weight gradient. A forward-only schedule keeps
/// one.
[[nodiscard]] std::vector<int> in_flight(const Schedule& schedule);

}  // namespace trireme::schedule
