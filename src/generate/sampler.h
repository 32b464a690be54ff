#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "core/random.h"

namespace trireme::generate {

/// How a token is chosen from logits, in this order (that of Hugging Face, and of Megatron-LM,
/// which takes one of top_k and top_p only):
///   1. the logits are divided by the temperature
///   2. top_k keeps the k largest
///   3. top_p keeps the likeliest of these whose probabilities (of these alone) reach p; the one
///      that reaches it is kept, so that one always is
///   4. one of the kept is drawn in proportion to its probability
/// Among equal logits the lower id is the likelier.
struct Sampling {
  double temperature = 1;  ///< 0: the likeliest; nothing is drawn
  int64_t top_k = 0;       ///< 0: all
  double top_p = 0;        ///< 0, 1: all
  uint32_t seed = 1234;
};

/// Chooses tokens. The random number is a function of (seed, which sample, position of the token),
/// so an answer does not depend on what else is generated beside it. Keeps its scratch memory.
class Sampler {
 public:
  explicit Sampler(const Sampling& sampling) : sampling_(sampling) {}

  /// logits [V]; sample and position name the token to be chosen. Throws for logits that are not
  /// finite.
  [[nodiscard]] int32_t choose(std::span<const float> logits, int64_t sample, int64_t position);

 private:
  struct Candidate {
    float logit;
    int32_t id;
    double weight;  // the probability, times a number that is the same for all
  };

  // Candidates in the order of their ids, or, where only some are kept, likeliest first; the sum
  // of the weights of those that are kept.
  double keep(float largest);

  Sampling sampling_;
  std::vector<Candidate> candidates_;
};

}  // namespace trireme::generate
