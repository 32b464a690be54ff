// trireme generate: text from a trained model.

#include <algorithm>
#include <charconv>

#include "app/answers.h"
#include "app/commands.h"
#include "app/generate_output.h"
#include "app/ranks.h"
#include "app/trained_model.h"
#include "checkpoint/reader.h"
#include "config/groups/generate.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "generate/generator.h"
#include "generate/prompts.h"
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

std::vector<generate::Prompt> prompts_of(const config::GenerateOptions& wanted) {
  if (!wanted.prompts) return {{wanted.prompt.value_or(""), "--prompt"}};
  const bool is_standard_input = *wanted.prompts == "-";
  const Path path = is_standard_input ? "/dev/stdin" : *wanted.prompts;
  const std::string name = is_standard_input ? "standard input" : path.string();
  const std::string extension = path.extension().string();
  const bool is_jsonl = wanted.prompts_format == config::PromptsFormat::jsonl ||
                        (wanted.prompts_format == config::PromptsFormat::automatic &&
                         (extension == ".jsonl" || extension == ".ndjson" || extension == ".json"));
  const std::string bytes = read_file(path);
  std::vector<generate::Prompt> prompts =
      is_jsonl ? generate::prompts_of_jsonl(bytes, name) : generate::prompts_of_text(bytes, name);
  if (prompts.empty()) {
    fail({.where = name,
          .what = "no prompt in it",
          .rule = is_jsonl ? "each line that is not blank is a prompt"
                           : "each line that is not empty is a prompt",
          .remedy = "write a prompt into it"});
  }
  return prompts;
}

// Ids at which an answer stops: those asked for.
std::vector<int32_t> stop_tokens(const config::GenerateOptions& wanted,
                                 const text::Tokenizer& tokenizer) {
  std::vector<int32_t> ids;
  for (const std::string& word : wanted.stop_token) {
    int32_t id = 0;
    const auto read = std::from_chars(word.data(), word.data() + word.size(), id);
    const bool is_number = read.ec == std::errc() && read.ptr == word.data() + word.size();
    if (!is_number || id < 0 || id >= tokenizer.vocab_size()) {
      fail_usage({.where = "--stop-token",
                  .what = format("'{}' is no token id", word),
                  .rule = format("ids are whole numbers from 0 to {}", tokenizer.vocab_size() - 1),
                  .remedy = "trireme tokenizer encode tells the ids of a text; for a text use "
                            "--stop"});
    }
    ids.push_back(id);
  }
  return ids;
}

// Prompts in tokens. An empty one is the end-of-text token, behind which documents start.
std::vector<std::vector<int32_t>> encoded(const std::vector<generate::Prompt>& prompts,
                                          const config::GenerateOptions& wanted,
                                          const text::Tokenizer& tokenizer) {
  std::vector<std::vector<int32_t>> tokens;
  bool told = !wanted.prompt && !wanted.prompts;  // asked for by saying nothing
  for (const generate::Prompt& prompt : prompts) {
    tokens.push_back(tokenizer.encode(prompt.text));
    if (!tokens.back().empty()) continue;
    const auto start = tokenizer.end_of_text();
    if (!start) {
      fail_usage({.where = prompt.where,
                  .what = "empty, and the tokenizer has no end-of-text token to start from",
                  .rule = "a model continues at least one token",
                  .remedy = "give a prompt"});
    }
    tokens.back().push_back(*start);
    if (!told) {
      note(format("{}: an empty prompt is continued as the start of a document, from the token {}",
                  prompt.where, tokenizer.token_bytes(*start)));
    }
    told = true;
  }
  return tokens;
}

// Every answer that is wanted: all samples of the first prompt, then of the next.
std::vector<generate::Request> requests_of(const std::vector<generate::Prompt>& prompts,
                                           const std::vector<std::vector<int32_t>>& tokens,
                                           const config::GenerateOptions& wanted,
                                           bool length_is_given, int64_t words, int64_t positions) {
  std::vector<generate::Request> requests;
  for (size_t i = 0; i < prompts.size(); ++i) {
    // The default length is what fits; a length that was asked for is kept or refused.
    const int64_t room = positions - static_cast<int64_t>(tokens[i].size());
    const int64_t count = length_is_given ? wanted.num_tokens
                                          : std::max<int64_t>(std::min(wanted.num_tokens, room), 1);
    generate::Request request = {.prompt = tokens[i], .count = count};
    generate::require_room(request, words, positions, prompts[i].where);
    for (request.sample = 0; request.sample < wanted.num_samples; ++request.sample)
      requests.push_back(request);
  }
  return requests;
}

int run(const GenerateCommandOptions& options, const config::OptionSet& set) {
  const config::GenerateOptions& wanted = options.generate;
  const std::vector<generate::Prompt> prompts = prompts_of(wanted);
  checkpoint::CheckpointReader reader =
      checkpoint::CheckpointReader::open(wanted.load, wanted.ckpt_step);
  const train::TrainOptions saved = train::saved_options(reader);
  const text::Tokenizer tokenizer =
      tokenizer_of(options.tokenizer, saved.tokenizer, reader.folder());
  const int64_t rows = stored_vocabulary(reader);
  require_words(tokenizer, rows, options.tokenizer.names_files());
  const AnswerRules rules = {.stop_texts = wanted.stop,
                             .stop_tokens = stop_tokens(wanted, tokenizer),
                             .stops_at_eod = !wanted.ignore_eod,
                             .json = wanted.json};
  const auto requests = requests_of(prompts, encoded(prompts, wanted, tokenizer), wanted,
                                    set.source_of("num-tokens").has_value(), tokenizer.vocab_size(),
                                    saved.model.positions());
  int64_t longest = 0;
  for (const generate::Request& request : requests)
    longest = std::max(longest, static_cast<int64_t>(request.prompt.size()) + request.count);

  const Ranks ranks(options.engine);
  ranks.run(parallel::Topology(), [&](LocalRank& rank) {
    engine::Session session(
        model::plan_run({.shape = train::gpt_shape(saved.model, rows),
                         .profile = rank.backend().profile,
                         .train = false,
                         .decode = {.capacity = longest,
                                    .places = std::min(wanted.batch_size,
                                                       static_cast<int64_t>(requests.size()))}}),
        rank.backend(), rank.groups());
    train::load_weights(session, reader);

    generate::Generator generator(session,
                                  {.temperature = wanted.greedy ? 0 : wanted.temperature,
                                   .top_k = wanted.top_k,
                                   .top_p = wanted.top_p,
                                   .seed = static_cast<uint32_t>(wanted.seed)},
                                  tokenizer.vocab_size(), rank.pool());
    GenerateOutput output(wanted.output);
    Answers answers(tokenizer, prompts, requests, rules,
                    [&](std::string_view bytes) { output.write(bytes); });
    generator.run(requests,
                  [&](size_t request, int32_t token) { return answers.put(request, token); });
    output.finish();
    if (wanted.output) {
      const generate::Generator::Work& work = generator.work();
      say(format("{} answers in {}: {} tokens, {:.1f}/s", requests.size(), wanted.output->string(),
                 work.answer_tokens,
                 static_cast<double>(work.answer_tokens) / work.answer_seconds));
    }
  });
  return 0;
}

}  // namespace

Command generate_command() {
  return make_command<GenerateCommandOptions>(
      {.name = "generate",
       .summary = "continue prompts with a trained model",
       .about =
           "Loads the weights of a checkpoint and continues one prompt or many, token by token. "
           "An answer is printed as it comes; answers to several prompts grow side by side and are "
           "printed in the order of the prompts. An answer ends at its length, at the tokenizer's "
           "end of document, or where a stop text is whole, which is not printed.\n"
           "The same prompt, seed and sample number give the same answer, whatever is generated "
           "beside it. A token is drawn after temperature, top-k and top-p, in this order. The "
           "tokenizer is that of the training run unless another is given.",
       .examples =
           "trireme generate --load checkpoints --prompt \"To create a table\" --num-tokens 80 "
           "--temperature 0.8 --top-p 0.95\n"
           "trireme generate --load checkpoints --prompt \"An index\" --greedy --stop $'\\n\\n'\n"
           "trireme generate --load checkpoints --num-samples 3 --top-k 40 --seed 7\n"
           "trireme generate --load checkpoints --prompts questions.jsonl --batch-size 16 --json "
           "--output answers.jsonl"},
      declare, run);
}

}  // namespace trireme::app
