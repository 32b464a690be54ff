#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "core/random.h"

namespace trireme::generate {

/// How a token is chosen from logits.
struct Sampling {
  double temperature = 1;  ///< 0: the likeliest (lowest id among equals)
  int64_t top_k = 0;       ///< only the k likeliest; 0: all
  double top_p = 0;        ///< only the likeliest whose probabilities reach p; 0: all
  uint32_t seed = 1234;
};

/// Chooses tokens. The random number is a function of (seed, which sample, position of the token),
/// so an answer does not depend on what else is generated beside it. Keeps its scratch memory.
class Sampler {
 public:
  explicit Sampler(const Sampling& sampling) : sampling_(sampling) {}

  /// logits [V], finite; sample and position name the token to be chosen.
  [[nodiscard]] int32_t choose(std::span<const float> logits, int64_t sample, int64_t position);

 private:
  Sampling sampling_;
  std::vector<int32_t> order_;
  std::vector<double> probabilities_;
};

}  // namespace trireme::generate
