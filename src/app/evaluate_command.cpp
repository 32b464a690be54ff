// trireme evaluate: how well a trained model predicts.

#include <limits>
#include <memory>

#include "app/commands.h"
#include "app/evaluation_data.h"
#include "app/evaluation_results.h"
#include "app/model_cut.h"
#include "app/one_mind.h"
#include "app/trained_model.h"
#include "config/groups/evaluate.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/mapped_file.h"
#include "evaluate/hellaswag.h"
#include "evaluate/lambada.h"
#include "evaluate/language.h"
#include "train/agreement.h"
#include "train/checkpointing.h"
#include "train/resume.h"
#include "train/run_data.h"

namespace trireme::app {
namespace {

struct EvaluateCommandOptions {
  config::EvaluateOptions evaluate;
  config::TokenizerOptions tokenizer;
  config::ParallelOptions parallel;
  config::EngineOptions engine;
};

void declare(EvaluateCommandOptions& options, config::OptionSet& set) {
  set.add(options.evaluate);
  set.add(options.tokenizer);
  set.add(options.parallel);
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

void tell_truncated(const Path& file, int64_t truncated, const char* of, int64_t length) {
  if (truncated == 0) return;
  note(format("{}: {} {} longer than {} tokens; the front of the context is left out there",
              file.string(), truncated, of, length));
}

// A trained model and what is asked of it; the same for all ranks of a process.
struct Wanted {
  explicit Wanted(const EvaluateCommandOptions& command)
      : options(command.evaluate),
        reader(checkpoint::CheckpointReader::open(options.load, options.ckpt_step)),
        saved(train::saved_options(reader)),
        rows(stored_vocabulary(reader)),
        longest(length_of(options, saved)),
        tokenizer(find_tokenizer(command, saved, reader.folder())) {
    if (tokenizer) require_words(*tokenizer, rows, command.tokenizer.names_files());
  }

  [[nodiscard]] model::GptShape shape() const { return train::gpt_shape(saved.model, rows); }

  const config::EvaluateOptions& options;
  checkpoint::CheckpointReader reader;
  train::TrainOptions saved;
  int64_t rows;     // words of the model
  int64_t longest;  // positions of a sample, window or example
  std::optional<text::Tokenizer> tokenizer;
};

// One rank of it.
class Evaluation {
 public:
  Evaluation(const Wanted& wanted, const ModelCut& cut, LocalRank& rank)
      : wanted_(wanted),
        options_(wanted.options),
        cut_(cut),
        reader_(checkpoint::CheckpointReader::of_iteration(options_.load,
                                                           wanted.reader.manifest().run.iteration)),
        rank_(rank),
        team_(cut.topology, rank.at(), rank.world(), rank.host_stream()) {}

  // A result for each thing that is asked for.
  std::vector<Json> results() {
    std::vector<Json> all;
    if (options_.reads_dataset()) all.push_back(data());
    if (options_.text) all.push_back(text());
    if (options_.lambada) all.push_back(lambada());
    if (options_.hellaswag) all.push_back(hellaswag());
    return all;
  }

 private:
  Json data() {
    const text::Tokenizer* const words = wanted_.tokenizer ? &*wanted_.tokenizer : nullptr;
    const EvaluationData opened = open_evaluation_data(options_, wanted_.saved, wanted_.longest,
                                                       wanted_.rows, words, rank_.pool());
    require_same(opened.content);
    const evaluate::LanguageResult result = evaluate::evaluate_samples(
        opened.batches, opened.samples, words, open(), options_.micro_batch_size, team_,
        train::feed_options(wanted_.saved.data), progress("data", "samples"));
    Json json = {{"samples", opened.samples}};
    json.update(language_json(result));
    return result_json("data", opened.name, json);
  }
  Json text() {
    require_same_file(*options_.text);
    const evaluate::LanguageResult result = evaluate::evaluate_text(
        read_file(*options_.text), options_.text->string(), *wanted_.tokenizer,
        options_.stride.value_or(wanted_.longest), open(), scoring(), progress("text", "tokens"));
    return result_json("text", options_.text->string(), language_json(result));
  }
  Json lambada() {
    require_same_file(*options_.lambada);
    const evaluate::LambadaResult result =
        evaluate::evaluate_lambada(*options_.lambada, limit(), *wanted_.tokenizer, open(),
                                   scoring(), progress("lambada", "tokens"));
    tell_truncated(*options_.lambada, result.truncated, "examples are", wanted_.longest);
    return result_json("lambada", options_.lambada->string(), lambada_json(result));
  }
  Json hellaswag() {
    require_same_file(*options_.hellaswag);
    const evaluate::HellaSwagResult result = evaluate::evaluate_hellaswag(
        *options_.hellaswag, limit(), options_.hellaswag_text, *wanted_.tokenizer, open(),
        scoring(), progress("hellaswag", "tokens"));
    tell_truncated(*options_.hellaswag, result.truncated, "endings with their context are",
                   wanted_.longest);
    return result_json("hellaswag", options_.hellaswag->string(), hellaswag_json(result));
  }

  // Hosts may have other copies.
  void require_same(const std::string& content) {
    if (rank_.world().size() == 1) return;
    train::require_same(rank_.world(), rank_.host_stream(),
                        {.name = "data",
                         .lines = content,
                         .remedy = "give all hosts the same copies of what is evaluated on"});
  }
  void require_same_file(const Path& path) {
    if (rank_.world().size() == 1) return;
    require_same(format("content of {} = {}\n", path.string(), checksum(MappedFile(path).bytes())));
  }

  evaluate::OpenSession open() {
    return [this](int64_t length, int64_t b) {
      model::GptShape shape = wanted_.shape();
      shape.length = length;
      model::RunRequest request = cut_.request(shape, rank_);
      request.batch.sequences = b;
      request.evaluate = true;
      auto session = std::make_unique<engine::Session>(model::plan_run(request), rank_.backend(),
                                                       rank_.groups());
      train::load_weights(*session, reader_);
      return session;
    };
  }
  [[nodiscard]] evaluate::ScorerOptions scoring() const {
    return {.longest = wanted_.longest, .sequences = options_.micro_batch_size, .team = team_};
  }
  [[nodiscard]] int64_t limit() const {
    return options_.limit.value_or(std::numeric_limits<int64_t>::max());
  }

  const Wanted& wanted_;
  const config::EvaluateOptions& options_;
  const ModelCut& cut_;
  checkpoint::CheckpointReader reader_;
  LocalRank& rank_;
  evaluate::Team team_;
};

int run(const EvaluateCommandOptions& options, const config::OptionSet& set) {
  const Ranks ranks(options.engine);
  const Wanted wanted(options);
  const ModelCut cut = cut_model(options.parallel, ranks, wanted.shape());
  std::vector<Json> results;  // of the first rank; all have the same
  ranks.run(cut.topology, [&](LocalRank& rank) {
    require_one_mind(rank, "evaluate", set.views(), checkpoint_subject(wanted.reader));
    std::vector<Json> own = Evaluation(wanted, cut, rank).results();
    if (rank.is_first()) results = std::move(own);
  });
  const std::string folder = wanted.reader.folder().string();
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
