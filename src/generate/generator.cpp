#include "generate/generator.h"

#include "core/error.h"
#include "core/format.h"

namespace trireme::generate {

using program::BatchField;

Generator::Generator(engine::Session& session, const Sampling& sampling, int64_t words)
    : session_(session), sampler_(sampling), words_(words) {
  TRIREME_ASSERT(words > 0 && words <= session.plan().shape.vocabulary,
                 "words are rows of the model");
  TRIREME_ASSERT(session.plan().decode.has_value(), "generation needs a decoding program");
  TRIREME_ASSERT(session.plan().batch.sequences == 1, "one prompt at a time");
  logits_.resize(static_cast<size_t>(session.plan().shape.vocabulary));
}

int64_t Generator::capacity() const {
  return session_.plan().shape.positions;
}

void Generator::feed(int32_t token, int64_t position) {
  const int32_t place = static_cast<int32_t>(position);
  const int64_t sample = 0;  // keys dropout, which is off
  session_.write_field<int32_t>(BatchField::tokens, MicrobatchId{0}, std::span(&token, 1));
  session_.write_field<int32_t>(BatchField::positions, MicrobatchId{0}, std::span(&place, 1));
  session_.write_field<int32_t>(BatchField::cache_lengths, MicrobatchId{0}, std::span(&place, 1));
  session_.write_field<int64_t>(BatchField::samples, MicrobatchId{0}, std::span(&sample, 1));
  session_.decode(logits_);
}

void Generator::require_room(std::span<const int32_t> prompt, int64_t count) const {
  const auto length = static_cast<int64_t>(prompt.size());
  if (length == 0) {
    fail({.where = "generate",
          .what = "an empty prompt",
          .rule = "a model continues at least one token",
          .remedy = "give a prompt"});
  }
  for (const int32_t token : prompt) {
    if (token >= 0 && token < words_) continue;
    fail({.where = "generate",
          .what = format("the prompt has token id {}", token),
          .rule = format("the model knows ids below {}", words_),
          .remedy = "use the tokenizer that the model was trained with"});
  }
  if (length + count <= capacity()) return;
  const int64_t room = capacity() - length;
  fail({.where = "generate",
        .what = format("a prompt of {} tokens and {} more", length, count),
        .rule = format("the model has {} positions", capacity()),
        .remedy = room > 0 ? format("use --num-tokens {} or less, or a shorter prompt", room)
                           : format("use a prompt of at most {} tokens", capacity() - 1)});
}

std::vector<int32_t> Generator::continue_prompt(std::span<const int32_t> prompt, int64_t count,
                                                int64_t sample, int32_t stop,
                                                const OnToken& on_token) {
  require_room(prompt, count);
  const auto length = static_cast<int64_t>(prompt.size());
  for (int64_t i = 0; i < length; ++i) feed(prompt[static_cast<size_t>(i)], i);
  std::vector<int32_t> answer;
  for (int64_t at = length; at < length + count; ++at) {
    const int32_t token =
        sampler_.choose(std::span(logits_).first(static_cast<size_t>(words_)), sample, at);
    if (token == stop) break;
    answer.push_back(token);
    if (on_token) on_token(token);
    if (at + 1 == length + count) break;  // nobody asks for what follows
    feed(token, at);
  }
  return answer;
}

}  // namespace trireme::generate
