#pragma once
#include <cstdint>

#include "config/groups/optimizer.h"
#include "train/batch_course.h"

namespace trireme::train {

/// The learning rate as a function of the samples consumed before the update. Megatron-LM's rules:
/// linear from `initial` to `most` while n <= warm-up, then the style's course to `least` at the
/// end of the decay, `least` behind it. With a warm-up the very first update has the rate
/// `initial`, which is 0 unless set.
///
/// r is the part of the decay that lies behind, warm-up left out:
///   linear               1 - r of the way from `least` to `most`
///   cosine               (1 + cos pi r) / 2 of the way
///   inverse square root  most sqrt(warm-up / n), not below `least`
///   wsd                  `most` up to the last wsd_samples, and over those, q of them behind:
///                        linear 1 - q, cosine (1 + cos pi q) / 2, exponential 2 (1/2)^q - 1,
///                        minus_sqrt 1 - sqrt q
struct LearningRate {
  config::LrDecayStyle style = config::LrDecayStyle::linear;
  double most = 0;
  double least = 0;
  double initial = 0;
  int64_t warmup_samples = 0;
  int64_t decay_samples = 0;  ///< from 0 to the end of the decay, warm-up included
  config::WsdDecayStyle wsd_style = config::WsdDecayStyle::exponential;
  int64_t wsd_samples = 0;

  [[nodiscard]] double at(int64_t consumed_samples) const;
};

/// The course of the options over a run. Iterations count as the samples that the run's first so
/// many batches consume. Throws a usage error for a warm-up or a last decay that is longer than the
/// whole.
[[nodiscard]] LearningRate learning_rate(const config::OptimizerOptions& options,
                                         const RunCourse& course);

}  // namespace trireme::train
