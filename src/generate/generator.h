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
  /// words: only ids below it are chosen; a model may have more rows than its tokenizer has tokens.
  Generator(engine::Session& session, const Sampling& sampling, int64_t words);

  /// Tokens that fit: prompt and answer together.
  [[nodiscard]] int64_t capacity() const;

  /// Throws, saying what would do, unless the prompt has a token, its ids are words, and prompt and
  /// answer fit.
  void require_room(std::span<const int32_t> prompt, int64_t count) const;

  /// Called for each new token.
  using OnToken = std::function<void(int32_t token)>;

  /// Continues one prompt by `count` tokens, fewer when `stop` (-1: none) is chosen, which is not
  /// part of the answer. sample numbers the answer: the same number, prompt and seed give the same
  /// tokens. Requires room.
  std::vector<int32_t> continue_prompt(std::span<const int32_t> prompt, int64_t count,
                                       int64_t sample, int32_t stop, const OnToken& on_token);

 private:
  void feed(int32_t token, int64_t position);

  engine::Session& session_;
  Sampler sampler_;
  int64_t words_;
  std::vector<float> logits_;
};

}  // namespace trireme::generate
