// trireme generate: text from a trained model.

#include <algorithm>
#include <cstdio>

#include "app/commands.h"
#include "app/rank.h"
#include "app/trained_model.h"
#include "checkpoint/reader.h"
#include "config/groups/generate.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "generate/generator.h"
#include "train/checkpointing.h"
#include "train/resume.h"

namespace trireme::app {
namespace {

struct GenerateCommandOptions {
  config::GenerateOptions generate;
  config::TokenizerOptions tokenizer;
  config::EngineOptions engine;
};

void declare(GenerateCommandOptions& options, config::OptionSet& set) {
  set.add(options.generate);
  set.add(options.tokenizer);
  set.add(options.engine);
}

// Prints text as it comes, but never half a UTF-8 character.
class Stream {
 public:
  void put(std::string_view bytes) {
    held_ += bytes;
    const size_t whole = whole_characters();
    std::fwrite(held_.data(), 1, whole, stdout);
    std::fflush(stdout);
    held_.erase(0, whole);
  }
  void end() {
    std::fwrite(held_.data(), 1, held_.size(), stdout);
    held_.clear();
    say("");
  }

 private:
  // Bytes in front of an unfinished character at the end.
  [[nodiscard]] size_t whole_characters() const {
    size_t start = held_.size();
    size_t length = 0;
    while (start > 0 && length < 4) {
      const auto byte = static_cast<unsigned char>(held_[--start]);
      ++length;
      if ((byte & 0xC0) == 0x80) continue;
      const size_t needs = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
      return needs > length ? start : held_.size();
    }
    return held_.size();
  }
  std::string held_;
};

int run(const GenerateCommandOptions& options, const config::OptionSet& set) {
  const config::GenerateOptions& wanted = options.generate;
  checkpoint::CheckpointReader reader =
      checkpoint::CheckpointReader::open(wanted.load, wanted.ckpt_step);
  const train::TrainOptions saved = train::saved_options(reader);
  const text::Tokenizer tokenizer = tokenizer_of(options.tokenizer, saved.tokenizer);
  const int64_t rows = stored_vocabulary(reader);
  require_words(tokenizer, rows);

  LocalRank rank(options.engine);
  engine::Session session(model::plan_run({.shape = train::gpt_shape(saved.model, rows),
                                           .profile = rank.backend().profile,
                                           .train = false,
                                           .decode_capacity = saved.model.positions()}),
                          rank.backend(), rank.tensor_group());
  train::load_weights(session, reader);

  generate::Generator generator(session,
                                {.temperature = wanted.temperature,
                                 .top_k = wanted.top_k,
                                 .top_p = wanted.top_p,
                                 .seed = static_cast<uint32_t>(wanted.seed)},
                                tokenizer.vocab_size());
  std::vector<int32_t> prompt = tokenizer.encode(wanted.prompt);
  if (prompt.empty()) {
    if (!tokenizer.end_of_text()) {
      fail_usage({.where = "--prompt",
                  .what = "empty, and the tokenizer has no end-of-text token to start from",
                  .rule = "a model continues at least one token",
                  .remedy = "give a --prompt"});
    }
    prompt.push_back(*tokenizer.end_of_text());
  }
  // The default length is what fits; a length that was asked for is kept or refused.
  int64_t count = wanted.num_tokens;
  if (!set.source_of("num-tokens")) {
    count = std::min(count, generator.capacity() - static_cast<int64_t>(prompt.size()));
    count = std::max<int64_t>(count, 1);
  }
  generator.require_room(prompt, count);
  const int32_t stop = tokenizer.end_of_text().value_or(-1);
  for (int64_t sample = 0; sample < wanted.num_samples; ++sample) {
    if (wanted.num_samples > 1) say(format("--- sample {}", sample + 1));
    Stream out;
    out.put(wanted.prompt);
    generator.continue_prompt(prompt, count, sample, stop,
                              [&](int32_t token) { out.put(tokenizer.token_bytes(token)); });
    out.end();
  }
  return 0;
}

}  // namespace

Command generate_command() {
  return make_command<GenerateCommandOptions>(
      {.name = "generate",
       .summary = "continue a prompt with a trained model",
       .about = "Loads the weights of a checkpoint and continues a prompt token by token, printed "
                "as it comes. The same prompt, "
                "seed and sample number give the same text. The tokenizer is the one of the "
                "training run unless another is "
                "given.",
       .examples = "trireme generate --load checkpoints --prompt \"To create a table\" "
                   "--num-tokens 80 --temperature 0.8 --top-p "
                   "0.95\n"
                   "trireme generate --load checkpoints --prompt \"An index\" --temperature 0\n"
                   "trireme generate --load checkpoints --num-samples 3 --top-k 40 --seed 7"},
      declare, run);
}

}  // namespace trireme::app
