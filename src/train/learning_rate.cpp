#include "train/learning_rate.h"

#include <cmath>
#include <numbers>

namespace trireme::train {

double LearningRate::at(int64_t consumed_samples) const {
  const auto n = static_cast<double>(consumed_samples);
  if (warmup_samples > 0 && consumed_samples <= warmup_samples) {
    return initial + (most - initial) * n / static_cast<double>(warmup_samples);
  }
  if (style == config::LrDecayStyle::constant) return most;
  if (consumed_samples > decay_samples) return least;
  const double ratio = (n - static_cast<double>(warmup_samples)) /
                       static_cast<double>(decay_samples - warmup_samples);
  const double share = style == config::LrDecayStyle::cosine
                           ? 0.5 * (std::cos(std::numbers::pi * ratio) + 1)
                           : 1 - ratio;
  return least + share * (most - least);
}

LearningRate learning_rate(const config::OptimizerOptions& options, int64_t train_iterations,
                           int64_t global_batch) {
  const int64_t decay_iterations = options.lr_decay_iters.value_or(train_iterations);
  LearningRate rate = {.style = options.lr_decay_style,
                       .most = options.lr,
                       .least = options.min_lr,
                       .initial = options.lr_warmup_init,
                       .warmup_samples = options.lr_warmup_iters * global_batch,
                       .decay_samples = decay_iterations * global_batch};
  if (options.lr_warmup_fraction) {
    rate.warmup_samples =
        static_cast<int64_t>(*options.lr_warmup_fraction * static_cast<double>(rate.decay_samples));
  }
  return rate;
}

}  // namespace trireme::train
