#include "generate/sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.h"
#include "core/format.h"

namespace trireme::generate {

int32_t Sampler::choose(std::span<const float> logits, int64_t sample, int64_t position) {
  for (const float logit : logits) {
    if (std::isfinite(logit)) continue;
    fail({.where = format("generate, token {}", position),
          .what = "the model's logits are not finite",
          .rule = "a token is chosen from finite logits",
          .remedy = "the checkpoint comes from a run that diverged; load an earlier one with "
                    "--ckpt-step"});
  }
  // Likeliest first, lower ids first among equals.
  order_.resize(logits.size());
  std::iota(order_.begin(), order_.end(), 0);
  const auto likelier = [&](int32_t a, int32_t b) {
    const float la = logits[static_cast<size_t>(a)];
    const float lb = logits[static_cast<size_t>(b)];
    return la != lb ? la > lb : a < b;
  };
  if (sampling_.temperature == 0) return *std::min_element(order_.begin(), order_.end(), likelier);
  auto kept = order_.size();
  if (sampling_.top_k > 0) kept = std::min(kept, static_cast<size_t>(sampling_.top_k));
  if (sampling_.top_k > 0 || sampling_.top_p > 0) {
    std::partial_sort(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(kept),
                      order_.end(), likelier);
  }
  const auto top = static_cast<double>(*std::max_element(logits.begin(), logits.end()));
  probabilities_.resize(kept);
  double sum = 0;
  for (size_t i = 0; i < kept; ++i) {
    probabilities_[i] =
        std::exp((static_cast<double>(logits[static_cast<size_t>(order_[i])]) - top) /
                 sampling_.temperature);
    sum += probabilities_[i];
  }
  if (sampling_.top_p > 0) {
    double reached = 0;
    size_t needed = 0;
    while (needed < kept && reached < sampling_.top_p * sum) reached += probabilities_[needed++];
    kept = std::max<size_t>(needed, 1);
    sum = reached;
  }
  const RandomStream stream = {.seed = sampling_.seed,
                               .site = RandomSite::sampling,
                               .sample = static_cast<uint64_t>(sample)};
  // 32 random bits as a share of the kept probability.
  double rest =
      (static_cast<double>(stream.bits(static_cast<uint64_t>(position))) + 0.5) * 0x1p-32 * sum;
  for (size_t i = 0; i < kept; ++i) {
    rest -= probabilities_[i];
    if (rest < 0) return order_[i];
  }
  return order_[kept - 1];
}

}  // namespace trireme::generate
