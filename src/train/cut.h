#pragma once
#include <optional>
#include <string>
#include <vector>

#include "parallel/stages.h"
#include "parallel/topology.h"
#include "schedule/schedules.h"
#include "train/options.h"

// How a run is cut over its ranks and in which order they work. Pure, but for the file of
// --schedule-file; every rule of the cut is checked here, before anything is allocated.

namespace trireme::train {

/// A whole run's cut: the same on all ranks.
struct Cut {
  parallel::Topology topology = {};
  parallel::Layout layout = {};
  schedule::ScheduleKind schedule = schedule::ScheduleKind::one_forward_one_backward;
  int group = 0;  ///< of the interleaved schedule (schedule::PipelineShape); 0: p
  /// Of a batch of the largest m, from --schedule-file, with its messages. Other batches of the run
  /// go in the order of `schedule`.
  std::optional<schedule::Pipeline> order = {};
  /// Lines about options that were given and change nothing in this cut, each with the rule. They
  /// are no errors: scripts give the same options to runs of any cut.
  std::vector<std::string> without_effect = {};

  /// p, v and group beside a batch's m.
  [[nodiscard]] schedule::PipelineShape shape(int microbatches) const;
  /// "ranks: 8 = p 2 x t 2 x d 2, 1 thread each", and where every layer went.
  [[nodiscard]] std::string text(int threads) const;
  /// Whether `order` adds some gradients in another order than one rank does.
  [[nodiscard]] bool adds_otherwise() const;
  /// Lines for the user about what is allowed and unusual.
  [[nodiscard]] std::vector<std::string> notes() const;
};

/// The cut that the options say of a model over these ranks, with these batches. Usage error, with
/// rule and nearest valid values, where it cannot be; run error for a --schedule-file that cannot
/// be read or is no schedule.
[[nodiscard]] Cut cut_run(const TrainOptions& options, const model::GptShape& shape,
                          const BatchShapes& batches, const parallel::Topology& topology);

/// The layers of each stage alone, for those who do not train.
[[nodiscard]] parallel::Layout pipeline_layout(const config::PipelineOptions& options,
                                               const model::GptShape& shape,
                                               const model::BatchShape& batch,
                                               const parallel::Topology& topology);

/// What --pipeline-layout auto balances: the work of one microbatch in a layer, the embedding and
/// the head, forward and backward, by the programs of a rank, and the m-th part of their optimizer
/// step. In FLOPs: an op takes as many as it executes, or as many as the machine could in the time
/// in which it moves the op's operands (kFlopsPerByte), whichever is more. No timing goes into it,
/// so all ranks and later runs come to the same layout.
[[nodiscard]] parallel::StageCosts stage_costs(const model::GptShape& shape,
                                               const model::BatchShape& batch,
                                               const parallel::Topology& topology);

/// FLOPs in the time of one byte from memory or to it. A core with wide vector units and its share
/// of the memory channels: 117 GFLOP/s beside 12 to 16 GB/s (docs/performance.md).
inline constexpr double kFlopsPerByte = 8;

}  // namespace trireme::train
