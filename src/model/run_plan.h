#pragma once
#include <array>
#include <optional>
#include <vector>

#include "model/chunk_program.h"
#include "model/gpt_shape.h"
#include "model/gpt_tensors.h"
#include "model/memory_plan.h"
#include "program/liveness.h"
#include "schedule/slots.h"

namespace trireme::model {

/// A program with its places in the arenas.
struct PlacedProgram {
  program::Program program;
  program::SlotPlan slots;
  int64_t activation_base = 0;  ///< of its first slot in the activations arena
  ArenaKind temporary_arena = ArenaKind::temporaries;
};

/// Offsets of the batch fields in one slot of the batch arena.
struct BatchLayout {
  std::array<int64_t, program::kBatchFields> offset = {};
  std::array<int64_t, program::kBatchFields> bytes =
      {};  ///< the largest of all programs; 0: unused
  int64_t slot_bytes = 0;
};

/// Offset of a step scalar in the scalars arena.
[[nodiscard]] constexpr int64_t scalar_offset(program::StepScalar scalar) {
  return 64 * static_cast<int64_t>(scalar);
}

/// The order of work of a batch of m microbatches.
struct BatchPlan {
  int microbatches = 1;  ///< m
  schedule::Schedule schedule;
  schedule::SlotAssignment assignment;
};

/// What is asked of one rank.
struct RunRequest {
  GptShape shape;
  BatchShape batch;
  std::vector<int> smaller_batches = {};  ///< other m of the run, where the batch grows
  /// The order of a batch of the largest m; 1F1B when not set. Its actions I and W may stand apart:
  /// what W needs is then saved for it.
  std::optional<schedule::Schedule> order = {};
  parallel::Topology topology;
  parallel::Coordinates at;
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
  std::vector<parallel::Chunk> chunks;
  LocalTensors local;
  std::vector<BatchPlan> batches;       ///< when training: one for each m, ascending
  std::optional<BatchPlan> evaluation;  ///< when evaluating: forward-only
  std::vector<PlacedProgram> train;     ///< [chunk]
  std::vector<PlacedProgram> evaluate;  ///< [chunk]
  DecodeShape decode_shape;
  std::optional<PlacedProgram> decode;  ///< one row per place, logits
  std::vector<PlacedProgram> prompts;   ///< as many rows as prompt_rows says, into the same caches
  std::optional<PlacedProgram> step;
  BatchLayout batch_layout;
  MemoryPlan memory;

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

/// Throws usage errors for impossible sizes; a pure function of the request.
[[nodiscard]] RunPlan plan_run(const RunRequest& request);

/// A value's address: base of the arena + offset + slot x stride, where the slot belongs to the
/// chunk and microbatch.
struct Address {
  ArenaKind arena = ArenaKind::temporaries;
  int64_t offset = 0;
  int64_t stride = 0;
};

/// Address of one of a placed program's flows.
[[nodiscard]] Address address_of_flow(const PlacedProgram& placed, int flow);

/// Address of a block's value in one instance of a placed program.
[[nodiscard]] Address address_of(const RunPlan& plan, const PlacedProgram& placed, size_t instance,
                                 int value);

}  // namespace trireme::model
