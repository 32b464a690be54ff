#pragma once
#include <vector>

#include "model/buckets.h"
#include "model/gpt_tensors.h"
#include "program/program.h"

namespace trireme::model {

/// How the optimizer treats all tensors; the learning rate is a device value of the step.
struct OptimizerRules {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.01;
  double clip_gradient = 1.0;  ///< 0: off
};

/// A rank among the others, for the programs that join them.
struct RankView {
  const parallel::TensorTable& table;
  const parallel::Topology& topology;
  const parallel::Layout& layout;
  parallel::Coordinates at;
  const LocalTensors& local;
};

/// What stands between the backwards and the step (the schedule's reduce_wait): the uses of a tied
/// tensor are added, on this rank or over the two stages that hold it; then gradients are the sums
/// over the data group. Buckets that a backward starts are only waited for, unless the rules say
/// that nothing overlaps.
[[nodiscard]] program::Program reduce_program(const RankView& rank,
                                              const std::vector<Bucket>& buckets,
                                              const ReductionRules& rules);

/// The optimizer step of one rank: the norm is taken over all ranks of the model, the clip factor
/// follows, AdamW in one pass per tensor. A tensor that several ranks hold counts once in the norm;
/// squares are gathered and added in the order of the table, and of the tensor ranks within a
/// tensor, so that stages do not change the sum.
[[nodiscard]] program::Program step_program(const OptimizerRules& rules, const RankView& rank);

}  // namespace trireme::model
