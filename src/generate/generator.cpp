#include "generate/generator.h"

#include "core/error.h"
#include "core/format.h"

namespace trireme::generate {

using program::BatchField;

Generator::Generator(engine::Session& session, const Sampling& sampling)
    : session_(session), sampler_(sampling) {
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

std::vector<int32_t> Generator::continue_prompt(std::span<const int32_t> prompt, int64_t count,
                                                int64_t sample, int32_t stop,
                                                const OnToken& on_token) {
  const auto length = static_cast<int64_t>(prompt.size());
  if (length == 0 || length >= capacity()) {
    fail({.where = "generate",
          .what = format("a prompt of {} tokens", length),
          .rule = format(
              "at least one token, and room for an answer within the {} positions of the model",
              capacity()),
          .remedy = "use another prompt"});
  }
  for (const int32_t token : prompt) {
    if (token >= 0 && token < session_.plan().shape.vocabulary) continue;
    fail({.where = "generate",
          .what = format("the prompt has token id {}", token),
          .rule = format("ids are below the model's vocabulary of {}",
                         session_.plan().shape.vocabulary),
          .remedy = "use the tokenizer that the model was trained with"});
  }
  for (int64_t i = 0; i < length; ++i) feed(prompt[static_cast<size_t>(i)], i);
  std::vector<int32_t> answer;
  for (int64_t at = length; at < length + count; ++at) {
    const int32_t token = sampler_.choose(logits_, sample, at);
    if (token == stop) break;
    answer.push_back(token);
    if (on_token) on_token(token);
    if (at + 1 >= capacity() || at + 1 == length + count) break;
    feed(token, at);
  }
  return answer;
}

}  // namespace trireme::generate
