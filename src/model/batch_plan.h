#pragma once
#include <optional>
#include <vector>

#include "schedule/schedules.h"
#include "schedule/slots.h"

namespace trireme::model {

/// The order of work of a batch of m microbatches on one rank.
struct BatchPlan {
  int microbatches = 1;         ///< m
  schedule::Schedule schedule;  ///< with messages
  schedule::SlotAssignment assignment;
  schedule::BufferAssignment buffers;
  /// Which weight gradient of a chunk overwrites, and behind which one the gradients are complete,
  /// [chunk]; the others add.
  std::vector<MicrobatchId> first;
  std::vector<MicrobatchId> last;
};

/// The plan of a rank of a pipeline, all of which is checked (schedule::validate).
[[nodiscard]] BatchPlan plan_batch(const schedule::Pipeline& pipeline, int pipeline_rank);

/// Which orders a run has.
struct OrderRules {
  int stages = 1;  ///< p
  int chunks = 1;  ///< v
  /// 1F1B, or interleaved where there are several chunks, when not set.
  std::optional<schedule::ScheduleKind> kind = {};
  int group = 0;  ///< schedule::PipelineShape::group
};

/// The order of a batch of m microbatches by the rules; of an evaluation.
[[nodiscard]] schedule::Pipeline training_order(const OrderRules& rules, int microbatches);
[[nodiscard]] schedule::Pipeline evaluation_order(const OrderRules& rules, int microbatches);

}  // namespace trireme::model
