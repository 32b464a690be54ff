// trireme evaluate: how well a trained model predicts.

#include <algorithm>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/commands.h"
#include "app/evaluation_data.h"
#include "app/ranks.h"
#include "app/trained_model.h"
#include "config/groups/evaluate.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/table.h"
#include "evaluate/hellaswag.h"
#include "evaluate/lambada.h"
#include "evaluate/language.h"
#include "train/checkpointing.h"
#include "train/resume.h"
#include "train/run_data.h"

namespace trireme::app {
namespace {

using Json = nlohmann::ordered_json;

struct EvaluateCommandOptions {
  config::EvaluateOptions evaluate;
  config::TokenizerOptions tokenizer;
  config::EngineOptions engine;
};

void declare(EvaluateCommandOptions& options, config::OptionSet& set) {
  set.add(options.evaluate);
  set.add(options.tokenizer);
  set.add(options.engine);
  set.replace(config::megatron::tasks());
}

// Windows, samples and examples are of one length.
int64_t length_of(const config::EvaluateOptions& options, const train::TrainOptions& saved) {
  const int64_t length = options.seq_length.value_or(saved.model.seq_length);
  if (length > saved.model.positions()) {
    fail_usage({.where = "--seq-length",
                .what = format("{} tokens", length),
                .rule = format("the model has {} positions", saved.model.positions()),
                .remedy = format("use --seq-length {} or less", saved.model.positions())});
  }
  if (options.stride && *options.stride > length) {
    fail_usage({.where = "--stride",
                .what = format("{} tokens between windows of {}", *options.stride, length),
                .rule = "every token of the text is in a window",
                .remedy = format("use --stride {} or less", length)});
  }
  return length;
}

// Token files can be evaluated without a tokenizer; only the bytes of their tokens are not known.
std::optional<text::Tokenizer> find_tokenizer(const EvaluateCommandOptions& options,
                                              const train::TrainOptions& saved,
                                              const Path& checkpoint) {
  const bool named = options.tokenizer.names_files() || saved.tokenizer.names_files();
  if (named || options.evaluate.reads_text())
    return tokenizer_of(options.tokenizer, saved.tokenizer, checkpoint);
  note("no tokenizer is named, so bits per byte are not known");
  return std::nullopt;
}

// A bar for each thing that is evaluated.
evaluate::OnProgress progress(const std::string& title, const char* unit) {
  auto bar = std::make_shared<std::optional<Progress>>();
  return [=](int64_t done, int64_t all) {
    if (!*bar && done == all) return;  // over before there was anything to show
    if (!*bar) bar->emplace(title, unit, static_cast<uint64_t>(all));
    (*bar)->update(static_cast<uint64_t>(done));
    if (done == all) (*bar)->finish();
  };
}

Json language_json(const evaluate::LanguageResult& result) {
  Json json = {{"tokens", result.score.tokens}};
  if (result.bytes > 0) json["bytes"] = result.bytes;
  json["loss"] = result.loss();
  json["perplexity"] = result.perplexity();
  if (result.bytes > 0) json["bits_per_byte"] = result.bits_per_byte();
  json["accuracy"] =
      static_cast<double>(result.score.hits) / static_cast<double>(result.score.tokens);
  return json;
}

void tell_truncated(const Path& file, int64_t truncated, const char* of, int64_t length) {
  if (truncated == 0) return;
  note(format("{}: {} {} longer than {} tokens; the front of the context is left out there",
              file.string(), truncated, of, length));
}

Json lambada_json(const evaluate::LambadaResult& result) {
  return {{"examples", result.examples},
          {"truncated", result.truncated},
          {"accuracy", result.accuracy()},
          {"perplexity", result.perplexity()}};
}

Json hellaswag_json(const evaluate::HellaSwagResult& result) {
  return {{"examples", result.examples},
          {"truncated", result.truncated},
          {"accuracy", result.share(result.by_sum)},
          {"accuracy_per_character", result.share(result.by_character)},
          {"accuracy_per_token", result.share(result.by_token)}};
}

Json result_json(const char* task, const std::string& name, const Json& measures) {
  Json json = {{"task", task}, {"name", name}};
  json.update(measures);
  return json;
}

// All measures, one a row.
std::string table_of(const std::vector<Json>& results) {
  using Align = TextTable::Align;
  TextTable table(
      {{"evaluated on", Align::left}, {"measure", Align::left}, {"value", Align::right}});
  for (const Json& result : results) {
    std::string title =
        format("{} {}", result["task"].get<std::string>(), result["name"].get<std::string>());
    for (const auto& [key, value] : result.items()) {
      if (value.is_string()) continue;
      std::string measure = key;
      std::replace(measure.begin(), measure.end(), '_', ' ');
      table.row({title, measure,
                 value.is_number_float() ? format("{:.4f}", value.get<double>()) : value.dump()});
      title.clear();
    }
  }
  return table.text();
}

// A trained model on the machine of this program, and what is asked of it.
class Evaluation {
 public:
  Evaluation(const EvaluateCommandOptions& options, LocalRank& rank)
      : wanted_(options.evaluate),
        reader_(checkpoint::CheckpointReader::open(wanted_.load, wanted_.ckpt_step)),
        saved_(train::saved_options(reader_)),
        rows_(stored_vocabulary(reader_)),
        longest_(length_of(wanted_, saved_)),
        tokenizer_(find_tokenizer(options, saved_, reader_.folder())),
        rank_(rank) {
    if (tokenizer_) require_words(*tokenizer_, rows_, options.tokenizer.names_files());
  }

  [[nodiscard]] const Path& folder() const { return reader_.folder(); }

  // A result for each thing that is asked for.
  std::vector<Json> results() {
    std::vector<Json> all;
    if (wanted_.reads_dataset()) all.push_back(data());
    if (wanted_.text) all.push_back(text());
    if (wanted_.lambada) all.push_back(lambada());
    if (wanted_.hellaswag) all.push_back(hellaswag());
    return all;
  }

 private:
  Json data() {
    const text::Tokenizer* const words = tokenizer_ ? &*tokenizer_ : nullptr;
    const EvaluationData opened =
        open_evaluation_data(wanted_, saved_, longest_, rows_, words, rank_.pool());
    const evaluate::LanguageResult result = evaluate::evaluate_samples(
        opened.batches, opened.samples, words, open(), wanted_.micro_batch_size,
        evaluate::Team(), train::feed_options(saved_.data), progress("data", "samples"));
    Json json = {{"samples", opened.samples}};
    json.update(language_json(result));
    return result_json("data", opened.name, json);
  }
  Json text() {
    const evaluate::LanguageResult result = evaluate::evaluate_text(
        read_file(*wanted_.text), wanted_.text->string(), *tokenizer_,
        wanted_.stride.value_or(longest_), open(), scoring(), progress("text", "tokens"));
    return result_json("text", wanted_.text->string(), language_json(result));
  }
  Json lambada() {
    const evaluate::LambadaResult result = evaluate::evaluate_lambada(
        *wanted_.lambada, limit(), *tokenizer_, open(), scoring(), progress("lambada", "tokens"));
    tell_truncated(*wanted_.lambada, result.truncated, "examples are", longest_);
    return result_json("lambada", wanted_.lambada->string(), lambada_json(result));
  }
  Json hellaswag() {
    const evaluate::HellaSwagResult result = evaluate::evaluate_hellaswag(
        *wanted_.hellaswag, limit(), wanted_.hellaswag_text, *tokenizer_, open(), scoring(),
        progress("hellaswag", "tokens"));
    tell_truncated(*wanted_.hellaswag, result.truncated, "endings with their context are",
                   longest_);
    return result_json("hellaswag", wanted_.hellaswag->string(), hellaswag_json(result));
  }

  evaluate::OpenSession open() {
    return [this](int64_t length, int64_t b) {
      model::GptShape shape = train::gpt_shape(saved_.model, rows_);
      shape.length = length;
      auto session =
          std::make_unique<engine::Session>(model::plan_run({.shape = shape,
                                                             .batch = {.sequences = b},
                                                             .profile = rank_.backend().profile,
                                                             .train = false,
                                                             .evaluate = true}),
                                            rank_.backend(), rank_.groups());
      train::load_weights(*session, reader_);
      return session;
    };
  }
  [[nodiscard]] evaluate::ScorerOptions scoring() const {
    return {.longest = longest_, .sequences = wanted_.micro_batch_size};
  }
  [[nodiscard]] int64_t limit() const {
    return wanted_.limit.value_or(std::numeric_limits<int64_t>::max());
  }

  const config::EvaluateOptions& wanted_;
  checkpoint::CheckpointReader reader_;
  train::TrainOptions saved_;
  int64_t rows_;     // words of the model
  int64_t longest_;  // positions of a sample, window or example
  std::optional<text::Tokenizer> tokenizer_;
  LocalRank& rank_;
};

int run(const EvaluateCommandOptions& options, const config::OptionSet&) {
  std::vector<Json> results;
  std::string folder;
  const Ranks ranks(options.engine);
  ranks.run(parallel::Topology(), [&](LocalRank& rank) {
    Evaluation evaluation(options, rank);
    results = evaluation.results();
    folder = evaluation.folder().string();
  });
  if (options.evaluate.json) {
    say(Json{{"checkpoint", folder}, {"results", results}}.dump(2));
  } else {
    say(format("{}\n\n{}", folder, table_of(results)));
  }
  return 0;
}

}  // namespace

Command evaluate_command() {
  return make_command<EvaluateCommandOptions>(
      {.name = "evaluate",
       .summary = "measure how well a trained model predicts",
       .about =
           "Loads the weights of a checkpoint and measures loss (nats per token), perplexity and "
           "bits per byte on token files or on a text, how often the last word of a passage is "
           "known (LAMBADA), and how often the right ending of a story is chosen (HellaSwag). "
           "Several of them may be asked for at once. docs/evaluation.md says how each number is "
           "counted.",
       .examples =
           "trireme evaluate --load checkpoints --part validation\n"
           "trireme evaluate --load checkpoints --data-path held_out_text_document --limit 1000\n"
           "trireme evaluate --load checkpoints --text held_out.txt --stride 128\n"
           "trireme evaluate --load checkpoints --lambada lambada_test.jsonl --hellaswag "
           "hellaswag_val.jsonl --json"},
      declare, run);
}

}  // namespace trireme::app
