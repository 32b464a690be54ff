#pragma once
#include <cstdint>

#include "config/groups/optimizer.h"

namespace trireme::train {

/// The learning rate as a function of the samples consumed before the update. Megatron-LM's rules:
/// linear from `initial` to `most` while n <= warm-up, then the style's course to `least` at the
/// end of the decay, `least` behind it. With a warm-up the very first update has the rate
/// `initial`, which is 0 unless set.
struct LearningRate {
  config::LrDecayStyle style = config::LrDecayStyle::linear;
  double most = 0;
  double least = 0;
  double initial = 0;
  int64_t warmup_samples = 0;
  int64_t decay_samples = 0;  ///< from 0 to the end of the decay, warm-up included

  [[nodiscard]] double at(int64_t consumed_samples) const;
};

/// The course that the options describe.
[[nodiscard]] LearningRate learning_rate(const config::OptimizerOptions& options,
                                         int64_t train_iterations, int64_t global_batch);

}  // namespace trireme::train
