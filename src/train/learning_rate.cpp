#include "train/learning_rate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/error.h"
#include "core/format.h"

namespace trireme::train {
namespace {

using config::LrDecayStyle;
using config::WsdDecayStyle;

double half_cosine(double ratio) {
  return 0.5 * (std::cos(std::numbers::pi * ratio) + 1);
}

// What is left of the way from the least rate to the most.
double wsd_share(WsdDecayStyle style, double ratio) {
  switch (style) {
    case WsdDecayStyle::exponential:
      return 2 * std::pow(0.5, ratio) - 1;
    case WsdDecayStyle::linear:
      return 1 - ratio;
    case WsdDecayStyle::cosine:
      return half_cosine(ratio);
    case WsdDecayStyle::minus_sqrt:
      return 1 - std::sqrt(ratio);
  }
  return 0;
}

}  // namespace

double LearningRate::at(int64_t consumed_samples) const {
  const auto n = static_cast<double>(consumed_samples);
  const auto warmup = static_cast<double>(warmup_samples);
  if (warmup_samples > 0 && consumed_samples <= warmup_samples) {
    return initial + (most - initial) * n / warmup;
  }
  if (style == LrDecayStyle::constant) return most;
  if (consumed_samples > decay_samples) return least;
  if (style == LrDecayStyle::inverse_square_root) {
    const double rate = most * std::sqrt(std::max(warmup, 1.0)) / std::sqrt(std::max(n, 1.0));
    return std::max(least, rate);
  }
  const double ratio = (n - warmup) / static_cast<double>(decay_samples - warmup_samples);
  double share = 1;
  if (style == LrDecayStyle::linear) share = 1 - ratio;
  if (style == LrDecayStyle::cosine) share = half_cosine(ratio);
  const int64_t behind = consumed_samples - (decay_samples - wsd_samples);
  if (style == LrDecayStyle::wsd && behind > 0) {
    share = wsd_share(wsd_style, static_cast<double>(behind) / static_cast<double>(wsd_samples));
  }
  return least + share * (most - least);
}

LearningRate learning_rate(const config::OptimizerOptions& options, const RunCourse& course) {
  const auto samples_of = [&](int64_t iterations) { return course.batch.samples_of(iterations); };
  LearningRate rate = {.style = options.lr_decay_style,
                       .most = options.lr,
                       .least = options.min_lr,
                       .initial = options.lr_warmup_init,
                       .warmup_samples = options.lr_warmup_samples,
                       .decay_samples = course.samples,
                       .wsd_style = options.lr_wsd_decay_style,
                       .wsd_samples = options.lr_wsd_decay_samples.value_or(0)};
  if (options.lr_decay_samples) rate.decay_samples = *options.lr_decay_samples;
  if (options.lr_decay_iters) rate.decay_samples = samples_of(*options.lr_decay_iters);
  if (options.lr_warmup_iters > 0) rate.warmup_samples = samples_of(options.lr_warmup_iters);
  if (options.lr_warmup_fraction) {
    rate.warmup_samples =
        static_cast<int64_t>(*options.lr_warmup_fraction * static_cast<double>(rate.decay_samples));
  }
  if (options.lr_wsd_decay_iters) {
    // Counted back from the end of the decay, where the batch has grown.
    rate.wsd_samples = *options.lr_wsd_decay_iters * course.batch.at(rate.decay_samples);
  }
  const bool constant = rate.style == LrDecayStyle::constant;
  if (!constant && rate.warmup_samples + rate.wsd_samples > rate.decay_samples) {
    fail_usage({.where = "learning rate",
                .what = format(
                    "a warm-up of {} samples{} in a decay of {}", rate.warmup_samples,
                    rate.wsd_samples > 0 ? format(" and a last decay of {}", rate.wsd_samples) : "",
                    rate.decay_samples),
                .rule = "the decay counts them both",
                .remedy = "use a shorter warm-up, or a longer run or --lr-decay-iters"});
  }
  return rate;
}

}  // namespace trireme::train
