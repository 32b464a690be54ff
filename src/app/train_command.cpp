// trireme train: from token files to a trained model.

#include "app/commands.h"
#include "app/decided_run.h"
#include "app/plan_text.h"
#include "app/train_run.h"
#include "config/run_file.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/process_memory.h"
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

// The report of the data that a plan names; none where it names none, since a plan needs none.
// Nothing is written: orders of samples are made in memory.
std::optional<data::DataReport> dry_report(train::TrainOptions options, const model::RunPlan& plan,
                                           const train::RunCourse& course,
                                           const text::Tokenizer* tokenizer) {
  if (!options.data.named()) return std::nullopt;
  options.data.data_cache_path.reset();
  ThreadPool pool(plan.profile.threads);
  return train::open_run_data(options, course, plan.shape.vocabulary, tokenizer, pool).report;
}

int dry_run(const TrainCommandOptions& command, const config::OptionSet& set,
            const model::RunPlan& plan, const DecidedRun& run) {
  if (command.json) {
    const auto report = dry_report(command.run, plan, run.course, run.words());
    say(plan_json(plan, set.views(), report ? &*report : nullptr));
    return 0;
  }
  say_plan(plan, run.cut, run.course.batch);
  say_whole_plan(plan);
  if (const auto report = dry_report(command.run, plan, run.course, run.words()))
    say(report->text());
  return 0;
}

int run(const TrainCommandOptions& command, const config::OptionSet& set) {
  const auto start = std::chrono::steady_clock::now();
  const std::optional<int64_t> memory_at_start = process_memory();
  const train::TrainOptions& options = command.run;
  const Ranks ranks(options.engine);
  const DecidedRun decided = decide_run(options, ranks);
  const model::RunPlan plan = model::plan_run(decided.request);
  for (const std::string& line : decided.cut.notes()) note(line);
  if (command.dry_run) return dry_run(command, set, plan, decided);
  say_plan(plan, decided.cut, decided.course.batch);
  run_training({.options = options,
                .saved = set.views(),
                .request = decided.request,
                .course = decided.course,
                .words = decided.words(),
                .memory_at_start = memory_at_start,
                .start = start},
               ranks);
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
