#include "generate/sampler.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/format.h"

namespace trireme::generate {

double Sampler::keep(float largest) {
  const auto likelier = [](const Candidate& a, const Candidate& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
  };
  if (sampling_.top_k > 0 && static_cast<size_t>(sampling_.top_k) < candidates_.size()) {
    const auto end = candidates_.begin() + static_cast<std::ptrdiff_t>(sampling_.top_k);
    std::nth_element(candidates_.begin(), end, candidates_.end(), likelier);
    candidates_.erase(end, candidates_.end());
    std::sort(candidates_.begin(), candidates_.end(), likelier);
  }
  double sum = 0;
  for (Candidate& candidate : candidates_) {
    candidate.weight =
        std::exp((static_cast<double>(candidate.logit) - largest) / sampling_.temperature);
    sum += candidate.weight;
  }
  if (sampling_.top_p == 0 || sampling_.top_p >= 1) return sum;
  // A heap gives up the likeliest one by one: few are needed.
  const auto heap_order = [&](const Candidate& a, const Candidate& b) { return likelier(b, a); };
  std::make_heap(candidates_.begin(), candidates_.end(), heap_order);
  double reached = 0;
  auto rest = candidates_.end();
  while (rest != candidates_.begin() &&
         (rest == candidates_.end() || reached < sampling_.top_p * sum)) {
    std::pop_heap(candidates_.begin(), rest, heap_order);
    reached += (--rest)->weight;
  }
  // The heap left them at the end, the likeliest last.
  candidates_.erase(candidates_.begin(), rest);
  std::reverse(candidates_.begin(), candidates_.end());
  return reached;
}

int32_t Sampler::choose(std::span<const float> logits, int64_t sample, int64_t position) {
  size_t likeliest = 0;
  bool finite = true;
  for (size_t id = 0; id < logits.size(); ++id) {
    finite = finite && std::isfinite(logits[id]);
    if (logits[id] > logits[likeliest]) likeliest = id;
  }
  if (!finite) {
    fail({.where = format("generate, token {}", position),
          .what = "the model's logits are not finite",
          .rule = "a token is chosen from finite logits",
          .remedy = "the checkpoint comes from a run that diverged; load an earlier one with "
                    "--ckpt-step"});
  }
  if (sampling_.temperature == 0) return static_cast<int32_t>(likeliest);
  candidates_.resize(logits.size());
  for (size_t id = 0; id < logits.size(); ++id)
    candidates_[id] = {.logit = logits[id], .id = static_cast<int32_t>(id), .weight = 0};
  const double sum = keep(logits[likeliest]);
  const RandomStream stream = {.seed = sampling_.seed,
                               .site = RandomSite::sampling,
                               .sample = static_cast<uint64_t>(sample)};
  // 32 random bits as a share of the kept probability.
  double rest =
      (static_cast<double>(stream.bits(static_cast<uint64_t>(position))) + 0.5) * 0x1p-32 * sum;
  for (const Candidate& candidate : candidates_) {
    rest -= candidate.weight;
    if (rest < 0) return candidate.id;
  }
  return candidates_.back().id;
}

}  // namespace trireme::generate
