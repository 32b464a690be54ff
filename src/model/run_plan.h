#pragma once
#include <array>
#include <optional>
#include <vector>

#include "model/batch_plan.h"
#include "model/buckets.h"
#include "model/chunk_program.h"
#include "model/gpt_shape.h"
#include "model/gpt_tensors.h"
#include "model/memory_plan.h"
#include "model/step_program.h"
#include "program/liveness.h"
#include "schedule/schedules.h"

namespace trireme::model {

/// A program with its places in the arenas.
struct PlacedProgram {
  program::Program program;
  program::SlotPlan slots;
  int64_t activation_base = 0;  ///< of its first slot in the activations arena
  ArenaKind temporary_arena = ArenaKind::temporaries;
  int64_t message_stride = 0;     ///< bytes from one buffer of messages to the next
  int64_t own_logits_offset = 0;  ///< this rank's part of the logits, in those of all
};

/// Offsets of the batch fields in one slot of the batch arena.
struct BatchLayout {
  std::array<int64_t, program::kBatchFields> offset = {};
  std::array<int64_t, program::kBatchFields> bytes =
      {};  ///< the largest of all programs; 0: unused
  int64_t slot_bytes = 0;
};

/// Offset of a step scalar in the scalars arena. Behind them each rank of the world has 64 bytes,
/// for what all ranks need to know.
[[nodiscard]] constexpr int64_t scalar_offset(program::StepScalar scalar) {
  return 64 * static_cast<int64_t>(scalar);
}
inline constexpr int64_t kGatheredOffset = 64 * program::kStepScalars;
inline constexpr int64_t kGatheredBytes = 64;  ///< of each rank

/// What is asked of one rank.
struct RunRequest {
  GptShape shape;
  BatchShape batch;
  std::vector<int> smaller_batches = {};  ///< other m of the run, where the batch grows
  parallel::Topology topology;
  parallel::Coordinates at;
  /// Which layers each virtual stage has; equal runs, one for each rank, when not set.
  std::optional<parallel::Layout> layout = {};
  /// 1F1B, or interleaved where the layout has several chunks for a rank, when not set.
  std::optional<schedule::ScheduleKind> kind = {};
  int group = 0;  ///< schedule::PipelineShape::group
  /// The user's own order of a batch of the largest m. Its actions I and W may stand apart: what W
  /// needs is then saved for it.
  std::optional<schedule::Pipeline> order = {};
  ReductionRules reduction = {};
  /// Each tensor rank sends its part of a boundary, and the receivers gather (SC'21 section 4.1).
  bool scatter_gather = false;
  OptimizerRules optimizer;
  program::BackendProfile profile;
  bool train = true;        ///< a training step: gradients, moments, the step program
  bool evaluate = false;    ///< forward-only batches of the largest m beside it
  DecodeShape decode = {};  ///< decoding programs, when it has a capacity
};

/// Everything that will happen on one rank, as a value: what it holds, in which order it works,
/// what each action does, where every value lies. Printed by --dry-run, executed by
/// engine/.
struct RunPlan {
  GptShape shape;
  BatchShape batch;  ///< the largest
  parallel::Topology topology;
  parallel::Coordinates at;
  program::BackendProfile profile;
  parallel::TensorTable table;
  parallel::Layout layout;  ///< of the whole pipeline
  bool scatter_gather = false;
  std::vector<parallel::Chunk> chunks;  ///< of this rank
  LocalTensors local;
  std::vector<BatchPlan> batches;       ///< when training: one for each m, ascending
  std::optional<BatchPlan> evaluation;  ///< when evaluating: forward-only
  std::vector<PlacedProgram> train;     ///< [chunk]
  std::vector<PlacedProgram> evaluate;  ///< [chunk]
  DecodeShape decode_shape;
  std::optional<PlacedProgram> decode;  ///< one row for each place of a group, logits
  std::vector<PlacedProgram> prompts;   ///< as many rows as prompt_rows says, into the same caches
  ReductionRules reduction;
  std::vector<Bucket> buckets;          ///< empty where there is one data rank
  std::optional<PlacedProgram> reduce;  ///< the schedule's reduce_wait
  std::optional<PlacedProgram> step;
  BatchLayout batch_layout;
  MemoryPlan memory;

  /// Bytes of one buffer of activations or gradients between stages; 0: there is one stage.
  int64_t message_bytes = 0;
  /// Of decoding: where the tokens of the first group of places are in the arena `decoded`, and
  /// the bytes from one group's to the next one's.
  int64_t tokens_offset = 0;
  int64_t tokens_stride = 0;
  /// b s h, in bytes: what a microbatch's message between stages has, without a buffer's alignment.
  [[nodiscard]] int64_t boundary_bytes() const {
    return shape.length * batch.sequences * shape.hidden * bytes_of(DType::f32);
  }

  /// B: sequences of one step of m microbatches over all ranks; of the largest.
  [[nodiscard]] int64_t global_batch(int microbatches) const {
    return batch.sequences * microbatches * topology.data();
  }
  [[nodiscard]] int64_t global_batch() const { return global_batch(batch.microbatches); }
  /// The plan of a batch of m microbatches, which must be one of the run's.
  [[nodiscard]] const BatchPlan& batch_plan(int microbatches) const;
  [[nodiscard]] const BatchPlan& largest_batch() const { return batches.back(); }
  /// FLOPs of such a step on this rank as the paper counts them, forward and backward.
  [[nodiscard]] double nominal_step_flops(int microbatches) const;
  [[nodiscard]] double nominal_step_flops() const { return nominal_step_flops(batch.microbatches); }
};

/// FLOPs of a step of so many sequences over all ranks, as the paper counts them; of the whole
/// model's programs, so whatever the cut.
[[nodiscard]] double nominal_flops(const GptShape& shape, int64_t sequences);

/// Throws usage errors for impossible sizes; a pure function of the request.
[[nodiscard]] RunPlan plan_run(const RunRequest& request);

}  // namespace trireme::model
