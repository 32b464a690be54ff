// trireme train: from token files to a trained model.

#include <cmath>

#include "app/commands.h"
#include "app/plan_text.h"
#include "app/rank.h"
#include "checkpoint/folder.h"
#include "config/run_file.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "data/report.h"
#include "data/sample_source.h"
#include "ops/cpu/peak.h"
#include "train/checkpointing.h"
#include "train/loop.h"
#include "train/resume.h"

namespace trireme::app {
namespace {

struct TrainCommandOptions {
  train::TrainOptions run;
  bool dry_run = false;
  bool json = false;

  static const config::Group& group() {
    static const config::Group table = {
        "Planning",
        "what is done with the run",
        {config::field(&TrainCommandOptions::dry_run,
                       {.name = "dry-run",
                        .help = "print the plan (memory, tensors, schedule, programs) and stop",
                        .saved = false}),
         config::field(
             &TrainCommandOptions::json,
             {.name = "json",
              .help = "with --dry-run: the effective options and the plan's numbers as JSON",
              .saved = false})}};
    return table;
  }
  [[nodiscard]] std::optional<config::Conflict> validate() const {
    if (!json || dry_run) return std::nullopt;
    return config::Conflict{.names = {"json"},
                            .what = "--json without --dry-run",
                            .rule = "a run writes its numbers to --metrics-file",
                            .remedy = "add --dry-run, or give --metrics-file"};
  }
};

void declare(TrainCommandOptions& options, config::OptionSet& set) {
  options.run.declare(set);
  set.add(options);
}

int64_t vocabulary_of(const train::TrainOptions& options,
                      const std::optional<text::Tokenizer>& tokenizer) {
  if (!tokenizer && !options.model.vocab_size) {
    fail_usage({.where = "vocabulary",
                .what = "neither a tokenizer nor --vocab-size is given",
                .rule = "the model needs to know how many words there are",
                .remedy = "give --vocab-file and --merge-file, or --vocab-size"});
  }
  const int64_t words = tokenizer ? tokenizer->vocab_size() : *options.model.vocab_size;
  if (options.model.vocab_size && *options.model.vocab_size < words) {
    fail_usage({.where = "--vocab-size",
                .what = format("{}, the tokenizer has {} tokens", *options.model.vocab_size, words),
                .rule = "every token of the tokenizer is a word of the model",
                .remedy = format("use --vocab-size {} or leave it out", words)});
  }
  return options.model.vocab_size.value_or(words);
}

std::string split_report(const char* name, const data::SampleSource* source) {
  const auto* samples = dynamic_cast<const data::IndexedSamples*>(source);
  if (samples == nullptr) return "";
  return format("{} {} tokens x {} epoch{}", name,
                count_text(static_cast<double>(samples->index().tokens_per_epoch)),
                samples->index().epochs, samples->index().epochs == 1 ? "" : "s");
}

// The data of a run.
struct RunData {
  std::optional<data::Batches> train;
  std::optional<data::Batches> validation;
  double unigram_entropy = 0;
  int64_t tokens_per_epoch = 0;  ///< of the training part
};

RunData open_data(const train::TrainOptions& options, const model::RunPlan& plan,
                  const train::RunCourse& course, const std::optional<text::Tokenizer>& tokenizer,
                  ThreadPool& pool) {
  const data::RequestedSamples requested =
      data::requested_samples({.train_iterations = course.iterations,
                               .train_samples = course.samples,
                               .global_batch_size = course.batch.largest(),
                               .eval_interval = options.logging.eval_interval,
                               .eval_iterations = options.logging.eval_iters});
  data::SplitSources sources =
      data::open_sources({.data_path = options.data.data_path,
                          .split = options.data.split,
                          .seed = static_cast<uint32_t>(options.batch.seed),
                          .sequence_length = plan.shape.length,
                          .requested = {.train = requested.train, .valid = requested.valid}});
  const int32_t eod = tokenizer ? tokenizer->end_of_text().value_or(-1) : -1;
  const Path prefix = options.data.data_path.front();
  const data::IndexedDataset dataset(prefix);
  const data::DatasetReport report = data::report_dataset(dataset, eod, pool);
  say(format("data: {}: {} documents, {} tokens; {}{}{}", prefix.string(), report.documents,
             count_text(static_cast<double>(report.tokens)),
             split_report("train", sources.train.get()), sources.valid ? ", " : "",
             split_report("validation", sources.valid.get())));

  RunData run;
  const data::BatchRules rules = {.vocab_size = plan.shape.vocabulary, .eod = eod};
  if (sources.valid) {
    run.validation.emplace(std::move(sources.valid), rules);
    run.unigram_entropy = data::unigram_entropy(*run.validation, 0, requested.valid);
  }
  if (const auto* samples = dynamic_cast<const data::IndexedSamples*>(sources.train.get())) {
    run.tokens_per_epoch = samples->index().tokens_per_epoch;
  }
  run.train.emplace(std::move(sources.train), rules);
  return run;
}

// Refused now rather than after hours: folders that are missing, and a --save that holds another
// run's checkpoints.
void require_places_to_write(const train::TrainOptions& run) {
  for (const auto& file : {run.logging.loss_curve_file, run.logging.metrics_file}) {
    if (!file || !file->has_parent_path() || std::filesystem::is_directory(file->parent_path())) {
      continue;
    }
    fail({.where = file->string(),
          .what = format("there is no folder {}", file->parent_path().string()),
          .remedy = "make the folder, or choose another"});
  }
  const config::CheckpointOptions& options = run.checkpoint;
  if (!options.save) return;
  make_folder(*options.save);
  if (options.load && std::filesystem::equivalent(*options.load, *options.save)) return;
  const std::vector<int64_t> whole = checkpoint::find_whole(*options.save);
  if (whole.empty()) return;
  fail({.where = "--save " + options.save->string(),
        .what = format("the folder has checkpoints of an earlier run, the last of iteration {}",
                       whole.front()),
        .rule = "a run saves beside its own checkpoints only",
        .remedy = format("continue that run with --load {}, or save to another folder",
                         options.save->string())});
}

// The order of samples depends on a run's length through its epochs: a run that continues one of
// another length says so where that changes the order.
void warn_of_another_order(const train::TrainOptions& saved, const train::TrainOptions& now,
                           const RunData& data, const model::RunPlan& plan) {
  if (data.tokens_per_epoch == 0) return;
  const auto epochs = [&](const train::TrainOptions& options) {
    return data::plan_epochs(data.tokens_per_epoch, plan.shape.length,
                             train::run_course(options, plan.topology).samples);
  };
  const data::EpochPlan before = epochs(saved);
  const data::EpochPlan after = epochs(now);
  if (before == after) return;
  const auto samples = [&](const train::TrainOptions& options) {
    return train::run_course(options, plan.topology).samples;
  };
  warn(format(
      "a run of {} samples reads the data {} times, the run so far was planned for {} samples "
      "and {} times: from here on the samples come in another order, and some come again",
      samples(now), after.epochs, samples(saved), before.epochs));
}

// Continues from --load when there is a checkpoint; fresh weights otherwise.
void start(const train::TrainOptions& options, std::optional<checkpoint::CheckpointReader>& reader,
           const RunData& data, engine::Session& session, train::Trainer& trainer,
           ThreadPool& pool) {
  if (!reader) {
    train::initialise_weights(session, static_cast<uint32_t>(options.batch.seed), pool);
    return;
  }
  warn_of_another_order(train::saved_options(*reader), options, data, session.plan());
  trainer.resume(train::load_checkpoint(session, *reader));
  say(format("continuing from {}: iteration {}, {} samples consumed", reader->folder().string(),
             trainer.position().iteration, trainer.position().consumed_samples));
}

void say_result(const train::RunResult& result, const train::TrainOptions& options,
                double unigram_entropy) {
  if (result.curve.train.size() >= 10)
    say("\n" + train::curve_text(result.curve, std::min(terminal_columns(), 100), 18));
  if (result.seconds > 0) {
    say(format("trained on {} tokens in {}, {} tokens/s",
               count_text(static_cast<double>(result.tokens)), duration_text(result.seconds),
               count_text(static_cast<double>(result.tokens) / result.seconds)));
  }
  if (result.validation_loss) {
    say(
        format("held-out loss {:.3f} nats per token, perplexity {:.1f}; a model that only knows "
               "how often each token occurs: "
               "{:.3f} nats, perplexity {:.1f}",
               *result.validation_loss, std::exp(*result.validation_loss), unigram_entropy,
               std::exp(unigram_entropy)));
  }
  if (options.logging.loss_curve_file) {
    write_file(*options.logging.loss_curve_file, train::curve_svg(result.curve));
    say("loss curve: " + options.logging.loss_curve_file->string());
  }
}

int run(const TrainCommandOptions& command, const config::OptionSet& set) {
  const train::TrainOptions& options = command.run;
  const parallel::Topology topology = train::topology(options.parallel, options.engine.ranks);
  const std::optional<text::Tokenizer> tokenizer = load_tokenizer(options.tokenizer);
  const int64_t vocabulary = vocabulary_of(options, tokenizer);
  const bool validates = options.logging.eval_iters > 0;
  const train::RunCourse course = train::run_course(options, topology);
  const train::BatchShapes batches =
      train::batch_shapes(course, options.batch.micro_batch_size, topology);
  model::RunPlan plan = model::plan_run({.shape = train::gpt_shape(options.model, vocabulary),
                                         .batch = batches.largest,
                                         .smaller_batches = batches.smaller,
                                         .topology = topology,
                                         .optimizer = train::optimizer_rules(options.optimizer),
                                         .profile = {.threads = threads_of(options.engine)},
                                         .evaluate = validates});
  if (command.json) {
    say(plan_json(plan, set.views()));
    return 0;
  }
  say_plan(plan, course.batch);
  if (command.dry_run) {
    say_whole_plan(plan);
    return 0;
  }

  require_places_to_write(options);
  std::optional<checkpoint::CheckpointReader> reader;
  if (options.checkpoint.load) {
    reader =
        checkpoint::CheckpointReader::open(*options.checkpoint.load, options.checkpoint.ckpt_step);
    train::require_continuable(*reader, options);
  }
  LocalRank rank(options.engine);
  RunData data = open_data(options, plan, course, tokenizer, rank.cpu.pool());
  engine::Session session(std::move(plan), rank.backend(), rank.tensor_group);
  train::Trainer trainer(session, *data.train, course.batch,
                         train::learning_rate(options.optimizer, course),
                         static_cast<uint32_t>(options.batch.seed));
  if (options.debug.overfit_batch) trainer.overfit();
  start(options, reader, data, session, trainer, rank.cpu.pool());

  const double peak = ops::cpu::measured_fma_rate(rank.cpu.pool(), 0.3);
  say(format("peak: {:.0f} GFLOP/s, the FMA rate of {} threads measured now; MFU counts against it",
             peak / 1e9, rank.cpu.pool().threads()));
  train::Run training = {.options = options,
                         .session = session,
                         .trainer = trainer,
                         .validation = data.validation ? &*data.validation : nullptr,
                         .rates = {.train_iterations = course.iterations, .peak_flops = peak},
                         .validation_batch = course.batch.largest(),
                         .unigram_entropy = data.unigram_entropy};
  if (options.checkpoint.save) {
    training.save = [&, toml = config::save_toml(set.views())] {
      train::save_checkpoint(session, trainer.position(), static_cast<uint32_t>(options.batch.seed),
                             toml, *options.checkpoint.save);
    };
  }
  train::RunResult result = train::run_loop(training);
  result.curve.title = format("{} parameters, {}",
                              count_text(static_cast<double>(session.plan().table.parameters())),
                              Path(options.data.data_path.front()).filename().string());
  say_result(result, options, data.unigram_entropy);
  return 0;
}

}  // namespace

Command train_command() {
  return make_command<TrainCommandOptions>(
      {.name = "train",
       .summary = "train a GPT on a dataset",
       .about = "Trains a GPT on token files that `trireme preprocess` made. Prints the plan "
                "(model, memory, schedule), then "
                "Megatron-LM's log lines, validations and saves at their intervals. With --load "
                "the run continues where the "
                "checkpoint stands, bit for bit.",
       .examples =
           "trireme train --config examples/quickstart.toml --data-path corpus_text_document "
           "--vocab-file vocab.json --merge-file merges.txt --train-iters 500 --save checkpoints\n"
           "trireme train --config examples/quickstart.toml --vocab-size 50257 --train-iters 1 "
           "--dry-run"},
      declare, run);
}

}  // namespace trireme::app
