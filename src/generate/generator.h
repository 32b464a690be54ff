#pragma once
#include <functional>
#include <span>
#include <vector>

#include "engine/session.h"
#include "generate/sampler.h"

namespace trireme::generate {

/// Continues prompts token by token with the session's decoding program and its key/value cache.
class Generator {
 public:
  /// The session was planned with a decode capacity; it outlives the generator. One sequence per
  /// place in its batch.
  Generator(engine::Session& session, const Sampling& sampling);

  /// Tokens that fit: prompt and answer together.
  [[nodiscard]] int64_t capacity() const;

  /// Called for each new token.
  using OnToken = std::function<void(int32_t token)>;

  /// Continues one prompt by up to `count` tokens (fewer when `stop`, -1 for none, is chosen, or
  /// the capacity is reached; stop is not part of the answer). sample numbers the answer: the same
  /// number, prompt and seed give the same tokens. The prompt has at least one token and fits.
  std::vector<int32_t> continue_prompt(std::span<const int32_t> prompt, int64_t count,
                                       int64_t sample, int32_t stop, const OnToken& on_token);

 private:
  void feed(int32_t token, int64_t position);

  engine::Session& session_;
  Sampler sampler_;
  std::vector<float> logits_;
};

}  // namespace trireme::generate
