// trireme generate: text from a trained model.

#include <algorithm>
#include <charconv>

#include "app/answers.h"
#include "app/commands.h"
#include "app/generate_output.h"
#include "app/model_cut.h"
#include "app/one_mind.h"
#include "app/trained_model.h"
#include "comm/gather_text.h"
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
  config::ParallelOptions parallel;
  config::EngineOptions engine;
};

void declare(GenerateCommandOptions& options, config::OptionSet& set) {
  set.add(options.generate);
  set.add(options.tokenizer);
  set.add(options.parallel);
  set.add(options.engine);
}

// Where prompts come from.
Path prompts_file(const config::GenerateOptions& wanted) {
  return *wanted.prompts == "-" ? "/dev/stdin" : *wanted.prompts;
}

// bytes: of the file, where there is one.
std::vector<generate::Prompt> prompts_of(const config::GenerateOptions& wanted,
                                         const std::string& bytes) {
  if (!wanted.prompts) return {{wanted.prompt.value_or(""), "--prompt"}};
  const Path path = prompts_file(wanted);
  const std::string name = *wanted.prompts == "-" ? "standard input" : path.string();
  const std::string extension = path.extension().string();
  const bool is_jsonl = wanted.prompts_format == config::PromptsFormat::jsonl ||
                        (wanted.prompts_format == config::PromptsFormat::automatic &&
                         (extension == ".jsonl" || extension == ".ndjson" || extension == ".json"));
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

// Answers of a group that goes through the stages while others do. Fewer take the time of as many,
// that of reading the weights, and then all in one group are as fast (docs/performance.md).
constexpr int64_t kLeastGroup = 8;

// A model and what it has to say, the same on all ranks of a process.
struct Generation {
  const GenerateCommandOptions& options;
  const config::OptionSet& set;
  const checkpoint::CheckpointReader& reader;
  const text::Tokenizer& tokenizer;
  model::GptShape shape;
  ModelCut cut;
  AnswerRules rules;
};

// The first rank reads the prompts: the others may be on hosts without the file, or without its
// standard input.
std::vector<generate::Prompt> shared_prompts(const config::GenerateOptions& wanted,
                                             LocalRank& rank) {
  const std::string own =
      wanted.prompts && rank.is_first() ? read_file(prompts_file(wanted)) : std::string();
  if (!wanted.prompts || rank.world().size() == 1) return prompts_of(wanted, own);
  return prompts_of(wanted, comm::gather_texts(rank.world(), rank.host_stream(), own).front());
}

void run_rank(const Generation& run, LocalRank& rank) {
  const config::GenerateOptions& wanted = run.options.generate;
  require_one_mind(rank, "generate", run.set.views(), checkpoint_subject(run.reader));
  const std::vector<generate::Prompt> prompts = shared_prompts(wanted, rank);
  const auto requests = requests_of(prompts, encoded(prompts, wanted, run.tokenizer), wanted,
                                    run.set.source_of("num-tokens").has_value(),
                                    run.tokenizer.vocab_size(), run.shape.positions);
  int64_t longest = 0;
  for (const generate::Request& request : requests)
    longest = std::max(longest, static_cast<int64_t>(request.prompt.size()) + request.count);
  const int64_t places = std::min(wanted.batch_size, static_cast<int64_t>(requests.size()));

  model::RunRequest request = run.cut.request(run.shape, rank);
  request.decode = {
      .capacity = longest,
      .places = places,
      .groups = std::clamp<int64_t>(places / kLeastGroup, 1, run.cut.topology.pipeline())};
  engine::Session session(model::plan_run(request), rank.backend(), rank.groups());
  auto reader =
      checkpoint::CheckpointReader::of_iteration(wanted.load, run.reader.manifest().run.iteration);
  train::load_weights(session, reader);

  generate::Generator generator(session,
                                {.temperature = wanted.greedy ? 0 : wanted.temperature,
                                 .top_k = wanted.top_k,
                                 .top_p = wanted.top_p,
                                 .seed = static_cast<uint32_t>(wanted.seed)},
                                run.tokenizer.vocab_size(), rank.pool());
  // Every rank follows the answers, and sees where they end; the first one writes them.
  std::optional<GenerateOutput> output;
  if (rank.is_first()) output.emplace(wanted.output);
  Answers answers(run.tokenizer, prompts, requests, run.rules, [&](std::string_view bytes) {
    if (output) output->write(bytes);
  });
  generator.run(requests, [&](size_t number, int32_t token) { return answers.put(number, token); });
  if (!output) return;
  output->finish();
  if (!wanted.output) return;
  const generate::Generator::Work& work = generator.work();
  say(format("{} answers in {}: {} tokens, {:.1f}/s", requests.size(), wanted.output->string(),
             work.answer_tokens, static_cast<double>(work.answer_tokens) / work.answer_seconds));
}

void require_one_model(const config::ParallelOptions& parallel, int ranks) {
  const int64_t p = parallel.pipeline_model_parallel_size;
  const int64_t t = parallel.tensor_model_parallel_size;
  if (p * t == ranks) return;
  fail_usage(
      {.where = "topology",
       .what = format("{} rank{}, and p {} x t {} = {}", ranks, ranks == 1 ? "" : "s", p, t, p * t),
       .rule = "one model answers: ranks = p t (--pipeline-model-parallel-size, "
               "--tensor-model-parallel-size)",
       .remedy = format("use {} rank{}, or other sizes", p * t, p * t == 1 ? "" : "s")});
}

int run(const GenerateCommandOptions& options, const config::OptionSet& set) {
  const config::GenerateOptions& wanted = options.generate;
  const Ranks ranks(options.engine);
  require_one_model(options.parallel, ranks.count());
  const auto reader = checkpoint::CheckpointReader::open(wanted.load, wanted.ckpt_step);
  const train::TrainOptions saved = train::saved_options(reader);
  const text::Tokenizer tokenizer =
      tokenizer_of(options.tokenizer, saved.tokenizer, reader.folder());
  const int64_t rows = stored_vocabulary(reader);
  require_words(tokenizer, rows, options.tokenizer.names_files());
  const model::GptShape shape = train::gpt_shape(saved.model, rows);
  const ModelCut cut = cut_model(options.parallel, ranks, shape);
  const Generation generation = {.options = options,
                                 .set = set,
                                 .reader = reader,
                                 .tokenizer = tokenizer,
                                 .shape = shape,
                                 .cut = cut,
                                 .rules = {.stop_texts = wanted.stop,
                                           .stop_tokens = stop_tokens(wanted, tokenizer),
                                           .stops_at_eod = !wanted.ignore_eod,
                                           .json = wanted.json}};
  ranks.run(cut.topology, [&](LocalRank& rank) { run_rank(generation, rank); });
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
           "beside it, and on however many stages. A token is drawn after temperature, top-k and "
           "top-p, in this order. The "
           "tokenizer is that of the training run unless another is given.",
       .examples =
           "trireme generate --load checkpoints --prompt \"To create a table\" --num-tokens 80 "
           "--temperature 0.8 --top-p 0.95\n"
           "trireme generate --load checkpoints --prompt \"An index\" --greedy --stop $'\\n\\n'\n"
           "trireme generate --load checkpoints --num-samples 3 --top-k 40 --seed 7\n"
           "trireme generate --load checkpoints --prompts questions.jsonl --batch-size 16 --json "
           "--output answers.jsonl\n"
           "trireme generate --load checkpoints --prompt \"An index\" --ranks 4 "
           "--pipeline-model-parallel-size 2 --tensor-model-parallel-size 2"},
      declare, run);
}

}  // namespace trireme::app
