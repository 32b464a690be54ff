// trireme evaluate: how well a trained model predicts.

#include <algorithm>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/commands.h"
#include "app/evaluation_data.h"
#include "app/rank.h"
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
                                              const train::TrainOptions& saved) {
  const bool named = options.tokenizer.names_files() || saved.tokenizer.names_files();
  if (named || options.evaluate.reads_text())
    return tokenizer_of(options.tokenizer, saved.tokenizer);
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

Json result_json(const char* task, const std::string& name, Json measures) {
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

int run(const EvaluateCommandOptions& options, const config::OptionSet&) {
  const config::EvaluateOptions& wanted = options.evaluate;
  checkpoint::CheckpointReader reader =
      checkpoint::CheckpointReader::open(wanted.load, wanted.ckpt_step);
  const train::TrainOptions saved = train::saved_options(reader);
  const int64_t rows = stored_vocabulary(reader);
  const int64_t longest = length_of(wanted, saved);
  const std::optional<text::Tokenizer> tokenizer = find_tokenizer(options, saved);
  if (tokenizer) require_words(*tokenizer, rows);

  LocalRank rank(options.engine);
  const evaluate::OpenSession open = [&](int64_t length, int64_t b) {
    model::GptShape shape = train::gpt_shape(saved.model, rows);
    shape.length = length;
    auto session =
        std::make_unique<engine::Session>(model::plan_run({.shape = shape,
                                                           .batch = {.sequences = b},
                                                           .profile = rank.backend().profile,
                                                           .train = false,
                                                           .evaluate = true}),
                                          rank.backend(), rank.tensor_group());
    train::load_weights(*session, reader);
    return session;
  };
  const evaluate::ScorerOptions scoring = {.longest = longest,
                                           .sequences = wanted.micro_batch_size};
  const int64_t limit = wanted.limit.value_or(std::numeric_limits<int64_t>::max());

  std::vector<Json> results;
  if (wanted.reads_dataset()) {
    const EvaluationData data = open_evaluation_data(
        wanted, saved, longest, rows, tokenizer ? &*tokenizer : nullptr, rank.pool());
    const evaluate::LanguageResult result = evaluate::evaluate_samples(
        data.batches, data.samples, tokenizer ? &*tokenizer : nullptr, open,
        wanted.micro_batch_size, train::feed_options(saved.data), progress("data", "samples"));
    Json json = {{"samples", data.samples}};
    json.update(language_json(result));
    results.push_back(result_json("data", data.name, std::move(json)));
  }
  if (wanted.text) {
    const evaluate::LanguageResult result = evaluate::evaluate_text(
        read_file(*wanted.text), wanted.text->string(), *tokenizer, wanted.stride.value_or(longest),
        open, scoring, progress("text", "tokens"));
    results.push_back(result_json("text", wanted.text->string(), language_json(result)));
  }
  if (wanted.lambada) {
    const evaluate::LambadaResult result = evaluate::evaluate_lambada(
        *wanted.lambada, limit, *tokenizer, open, scoring, progress("lambada", "tokens"));
    tell_truncated(*wanted.lambada, result.truncated, "examples are", longest);
    results.push_back(result_json("lambada", wanted.lambada->string(), lambada_json(result)));
  }
  if (wanted.hellaswag) {
    const evaluate::HellaSwagResult result =
        evaluate::evaluate_hellaswag(*wanted.hellaswag, limit, wanted.hellaswag_text, *tokenizer,
                                     open, scoring, progress("hellaswag", "tokens"));
    tell_truncated(*wanted.hellaswag, result.truncated, "endings with their context are", longest);
    results.push_back(result_json("hellaswag", wanted.hellaswag->string(), hellaswag_json(result)));
  }

  if (wanted.json) {
    say(Json{{"checkpoint", reader.folder().string()}, {"results", results}}.dump(2));
  } else {
    say(format("{}\n\n{}", reader.folder().string(), table_of(results)));
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
