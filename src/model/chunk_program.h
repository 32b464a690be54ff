#pragma once
#include "model/gpt_tensors.h"
#include "model/sizes.h"
#include "parallel/stages.h"
#include "program/program.h"

namespace trireme::model {

/// The program of one model chunk: its blocks emitted once, an instance per layer, flows x0, x1,
/// ... between them.
[[nodiscard]] program::Program chunk_program(const Sizes& sizes, const parallel::Chunk& chunk,
                                             const parallel::TensorTable& table);

/// How the optimizer treats all tensors; the learning rate is a device value of the step.
struct OptimizerRules {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.01;
  double clip_gradient = 1.0;  ///< 0: off
};

/// The optimizer step of one rank: tied gradients are added, the norm is taken, the clip factor
/// follows, AdamW in one pass per tensor.
[[nodiscard]] program::Program step_program(const OptimizerRules& rules,
                                            const parallel::TensorTable& table,
                                            const LocalTensors& local);

}  // namespace trireme::model
