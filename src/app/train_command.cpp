// trireme train: from token files to a trained model.

#include <cmath>

#include "app/commands.h"
#include "app/plan_text.h"
#include "app/rank.h"
#include "app/tokenizer_files.h"
#include "config/run_file.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/process_memory.h"
#include "train/checkpointing.h"
#include "train/fit.h"
#include "train/loop.h"
#include "train/places.h"
#include "train/resume.h"
#include "train/run_data.h"

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
        {config::field(
             &TrainCommandOptions::dry_run,
             {.name = "dry-run",
              .help = "print the plan (memory, tensors, schedule, programs, data) and stop",
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
  set.replace(config::megatron::pretrain_gpt());
}

int64_t vocabulary_of(const train::TrainOptions& options,
                      const std::optional<text::Tokenizer>& tokenizer) {
  if (!tokenizer && !options.model.vocab_size) {
    fail_usage(
        {.where = "vocabulary",
         .what = "neither a tokenizer nor --vocab-size is given",
         .rule = "the model needs to know how many words there are",
         .remedy = "give --tokenizer-model, or --vocab-file and --merge-file, or --vocab-size"});
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

// Continues from --load when there is a checkpoint; fresh weights otherwise.
void start(const train::TrainOptions& options, std::optional<checkpoint::CheckpointReader>& reader,
           const train::RunCourse& course, const train::RunData& data, engine::Session& session,
           train::Trainer& trainer, ThreadPool& pool) {
  if (!reader) {
    train::initialise_weights(session, static_cast<uint32_t>(options.batch.seed), pool);
    return;
  }
  train::warn_of_another_order(
      train::run_course(train::saved_options(*reader), session.plan().topology), course, data);
  trainer.resume(train::load_checkpoint(session, *reader));
  say(format("continuing from {}: iteration {}, {} samples consumed", reader->folder().string(),
             trainer.position().iteration, trainer.position().consumed_samples));
}

// What was planned beside what there is: memory that the plan does not know shows here.
void say_memory(const model::MemoryPlan& plan, std::optional<int64_t> at_start) {
  const std::optional<int64_t> now = process_memory();
  if (!now || !at_start) return;
  say(format("memory: {} planned, {} taken since the start, data and reports included",
             bytes_text(static_cast<double>(plan.total())),
             bytes_text(static_cast<double>(*now - *at_start))));
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

// The report of the data that a plan names; none where it names none, since a plan needs none.
// Nothing is written: orders of samples are made in memory.
std::optional<data::DataReport> dry_report(train::TrainOptions options, const model::RunPlan& plan,
                                           const train::RunCourse& course,
                                           const text::Tokenizer* tokenizer) {
  if (!options.data.named()) return std::nullopt;
  options.data.data_cache_path.reset();
  ThreadPool pool(threads_of(options.engine));
  return train::open_run_data(options, course, plan.shape.vocabulary, tokenizer, pool).report;
}

int dry_run(const TrainCommandOptions& command, const config::OptionSet& set,
            const model::RunPlan& plan, const train::RunCourse& course,
            const text::Tokenizer* tokenizer) {
  if (command.json) {
    const auto report = dry_report(command.run, plan, course, tokenizer);
    say(plan_json(plan, set.views(), report ? &*report : nullptr));
    return 0;
  }
  say_plan(plan, course.batch);
  say_whole_plan(plan);
  if (const auto report = dry_report(command.run, plan, course, tokenizer)) say(report->text());
  return 0;
}

// A test at the end of the whole run, where there are data for it.
void test(const train::TrainOptions& options, const train::RunData& data, engine::Session& session,
          int64_t iteration) {
  if (data.test == nullptr) return;
  const double loss = train::evaluate_loss(session, data.test, 0, data.requested.test,
                                           train::feed_options(options.data));
  say(train::validation_line(iteration, loss, " on test set"));
}

// What the loss curve is headed with.
std::string data_name(const config::DataOptions& options) {
  if (options.mock_data) return "mock data";
  if (options.data_args_path) return options.data_args_path->filename().string();
  const auto& items = options.data_path.empty() ? options.train_data_path : options.data_path;
  return items.size() == 1 ? Path(items[0]).filename().string() : "several datasets";
}

int run(const TrainCommandOptions& command, const config::OptionSet& set) {
  const auto start_of_run = std::chrono::steady_clock::now();
  const std::optional<int64_t> memory_at_start = process_memory();
  const train::TrainOptions& options = command.run;
  const parallel::Topology topology = train::topology(options.parallel, options.engine.ranks);
  const std::optional<text::Tokenizer> tokenizer = load_tokenizer(options.tokenizer);
  const int64_t vocabulary = vocabulary_of(options, tokenizer);
  const bool validates = options.logging.eval_iters > 0;
  const train::RunCourse course = train::run_course(options, topology);
  train::BatchShapes batches =
      train::batch_shapes(course, options.batch.micro_batch_size, topology);
  batches.largest.documents = options.data.reset_attention_mask;
  const model::RunRequest request = {.shape = train::gpt_shape(options.model, vocabulary),
                                     .batch = batches.largest,
                                     .smaller_batches = batches.smaller,
                                     .topology = topology,
                                     .optimizer = train::optimizer_rules(options.optimizer),
                                     .profile = {.threads = threads_of(options.engine)},
                                     .evaluate = validates};
  model::RunPlan plan = model::plan_run(request);
  const text::Tokenizer* const words = tokenizer ? &*tokenizer : nullptr;
  if (command.dry_run) return dry_run(command, set, plan, course, words);
  say_plan(plan, course.batch);

  LocalRank rank(options.engine);
  train::require_memory(request, plan, *rank.backend().device);
  train::require_places_to_write(options);
  std::optional<checkpoint::CheckpointReader> reader =
      train::checkpoint_to_continue(options.checkpoint);
  if (reader) train::require_continuable(*reader, options);
  const checkpoint::Retention retention = train::retention(options.checkpoint, reader);
  const train::RunData data = train::open_run_data(options, course, vocabulary, words, rank.pool());
  say(data.report.text());
  double unigram_entropy = 0;
  if (data.validation) {
    unigram_entropy = data::unigram_entropy(*data.validation, 0, data.requested.valid, rank.pool());
  }
  engine::Session session(std::move(plan), rank.backend(), rank.tensor_group());
  train::Trainer trainer(
      session, data.train, course.batch, train::learning_rate(options.optimizer, course),
      static_cast<uint32_t>(options.batch.seed), train::feed_options(options.data));
  if (options.debug.overfit_batch) trainer.overfit();
  start(options, reader, course, data, session, trainer, rank.pool());
  reader.reset();  // its files are mapped

  const LocalRank::Peak peak = rank.peak();
  say(format("peak: {:.0f} GFLOP/s, {}; MFU counts against it", peak.flops / 1e9, peak.how));
  train::Run training = {.options = options,
                         .session = session,
                         .trainer = trainer,
                         .validation = data.validation,
                         .rates = {.train_iterations = course.iterations, .peak_flops = peak.flops},
                         .validation_batch = course.batch.largest(),
                         .unigram_entropy = unigram_entropy,
                         .start = start_of_run};
  if (options.checkpoint.save) {
    training.save = [&, toml = config::save_toml(set.views())] {
      train::save_checkpoint(session, trainer.position(), static_cast<uint32_t>(options.batch.seed),
                             toml, *options.checkpoint.save);
    };
    training.remove_old = [&] {
      return checkpoint::apply_retention(*options.checkpoint.save, retention);
    };
  }
  train::RunResult result = train::run_loop(training);
  result.curve.title = format("{} parameters, {}",
                              count_text(static_cast<double>(session.plan().table.parameters())),
                              data_name(options.data));
  if (trainer.position().iteration == course.iterations)
    test(options, data, session, course.iterations);
  say_result(result, options, unigram_entropy);
  say_memory(session.plan().memory, memory_at_start);
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
           "--tokenizer-model tokenizer --train-iters 500 --save checkpoints\n"
           "trireme train --config examples/quickstart.toml --data-path 0.7 books_text_document "
           "0.3 web_text_document --tokenizer-model tokenizer --train-iters 500 --eod-mask-loss\n"
           "trireme train --config examples/quickstart.toml --vocab-size 50257 --train-iters 1 "
           "--dry-run\n"
           "trireme train --config examples/quickstart.toml --vocab-size 50257 --train-iters 20 "
           "--eval-iters 0 --mock-data"},
      declare, run);
}

}  // namespace trireme::app
