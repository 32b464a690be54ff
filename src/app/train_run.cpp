#include "app/train_run.h"

#include <cmath>

#include "app/decided_run.h"
#include "app/one_mind.h"
#include "config/run_file.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/process_memory.h"
#include "train/account.h"
#include "train/agreement.h"
#include "train/checkpointing.h"
#include "train/fit.h"
#include "train/loop.h"
#include "train/places.h"
#include "train/record_file.h"
#include "train/resume.h"
#include "train/run_data.h"

namespace trireme::app {
namespace {

// What the ranks of a process share.
struct Shared {
  const train::RunData& data;
  // Known where the first rank is: the checkpoint that the run continues from, and which stay.
  std::optional<int64_t> loaded = {};
  checkpoint::Retention retention = {};
  double unigram_entropy = 0;
  int64_t bytes_here = 0;      // what the ranks of this machine need
  bool are_processes = false;  // the ranks, each
};

// Continues from --load when there is a checkpoint, each rank from its own part of it; fresh
// weights otherwise.
void start(const TrainRun& run, const Shared& shared, const train::World& world,
           engine::Session& session, train::Trainer& trainer, ThreadPool& pool) {
  const train::TrainOptions& options = run.options;
  const std::optional<int64_t> iteration = told_by_first(world, shared.loaded);
  if (!iteration) {
    train::initialise_weights(session, static_cast<uint32_t>(options.batch.seed), pool);
    return;
  }
  const std::string folder =
      train::together(world, [&] {
        auto reader =
            checkpoint::CheckpointReader::of_iteration(*options.checkpoint.load, *iteration);
        train::warn_of_another_order(
            train::run_course(train::saved_options(reader), reader.manifest().run.ranks),
            run.course, shared.data);
        trainer.resume(train::load_checkpoint(session, reader));
        return reader.folder().string();
      }).front();
  say(format("continuing from {}: iteration {}, {} samples consumed", folder,
             trainer.position().iteration, trainer.position().consumed_samples));
}

// What was planned beside what there is: memory that the plan does not know shows here. Both of all
// ranks of this process.
void say_memory(int64_t planned, std::optional<int64_t> at_start) {
  const std::optional<int64_t> now = process_memory();
  if (!now || !at_start) return;
  say(format("memory: {} planned, {} taken since the start, data and reports included",
             bytes_text(static_cast<double>(planned)),
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

// Where the time and the bytes went, for who reads the output and for who reads the metrics.
void say_account(const train::RunAccount& account, const train::TrainOptions& options,
                 int64_t iteration) {
  if (account.ranks.front().total_seconds() == 0) return;  // there was no step
  std::string text = account.text();
  text.pop_back();
  say(text);
  if (!account.bytes_are_as_planned()) {
    warn(
        "other bytes were sent than planned: a mistake of the program's; the table above is worth "
        "a report");
  }
  if (const auto& file = options.logging.metrics_file)
    train::RecordFile(*file).append(account.json(iteration) + "\n");
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

void run_rank(const TrainRun& run, const Shared& shared, LocalRank& rank) {
  const train::TrainOptions& options = run.options;
  const train::RunCourse& course = run.course;
  const auto seed = static_cast<uint32_t>(options.batch.seed);
  const train::World world = {rank.world(), rank.host_stream()};
  require_one_mind(rank, "train", run.saved, train::data_subject(shared.data));
  if (options.checkpoint.save) train::require_one_folder(world, *options.checkpoint.save);
  model::RunRequest request = run.request;
  request.at = rank.at();
  model::RunPlan plan = model::plan_run(request);
  train::require_memory(request, plan, shared.bytes_here, *rank.backend().device);
  engine::Session session(std::move(plan), rank.backend(), rank.groups());
  train::Trainer trainer(session, shared.data.train, course.batch,
                         train::learning_rate(options.optimizer, course), seed,
                         train::feed_options(options.data));
  if (options.debug.overfit_batch) trainer.overfit();
  start(run, shared, world, session, trainer, rank.pool());

  const LocalRank::Peak peak = rank.peak();
  const int ranks = rank.world().size();
  say(format("peak: {:.0f} GFLOP/s{}, {}; MFU counts against it", peak.flops / 1e9,
             ranks == 1 ? "" : " per rank", peak.how));
  train::Run training = {
      .options = options,
      .world = world,
      .session = session,
      .trainer = trainer,
      .validation = shared.data.validation,
      .rates = {.train_iterations = course.iterations, .peak_flops = peak.flops * ranks},
      .validation_batch = course.batch.largest(),
      .unigram_entropy = shared.unigram_entropy,
      .start = run.start};
  if (options.checkpoint.save) {
    training.save = [&, toml = config::save_toml(run.saved)] {
      train::save_checkpoint(world, session, trainer.position(), seed, toml,
                             *options.checkpoint.save);
    };
    if (rank.is_first()) {
      training.remove_old = [&] {
        return checkpoint::apply_retention(*options.checkpoint.save, shared.retention);
      };
    }
  }
  train::RunResult result = train::run_loop(training);
  result.curve.title = format("{} parameters, {}",
                              count_text(static_cast<double>(session.plan().table.parameters())),
                              data_name(options.data));
  if (trainer.position().iteration == course.iterations)
    test(options, shared.data, session, course.iterations);
  const train::RunAccount account = train::gather_account(world, session, trainer);
  if (!rank.is_first()) return;
  say_result(result, options, shared.unigram_entropy);
  say_account(account, options, trainer.position().iteration);
  say_memory(shared.are_processes ? session.plan().memory.total() : shared.bytes_here,
             run.memory_at_start);
}

}  // namespace

std::optional<int64_t> told_by_first(const train::World& world, std::optional<int64_t> loaded) {
  const std::string text =
      train::together(world, [&] { return loaded ? std::to_string(*loaded) : ""; }).front();
  return text.empty() ? std::nullopt : std::optional(std::stoll(text));
}

void run_training(const TrainRun& run, const Ranks& ranks) {
  const train::TrainOptions& options = run.options;
  std::optional<checkpoint::CheckpointReader> reader;
  if (!is_quiet()) {  // the first rank is here
    train::require_places_to_write(options);
    reader = train::checkpoint_to_continue(options.checkpoint);
    if (reader) train::require_continuable(*reader, options, run.request.topology);
  }
  ThreadPool pool(std::max(1, usable_cores()));
  const train::RunData data =
      train::open_run_data(options, run.course, run.request.shape.vocabulary, run.words, pool);
  say(data.report.text());
  Shared shared = {.data = data, .retention = train::retention(options.checkpoint, reader)};
  if (reader) shared.loaded = reader->manifest().run.iteration;
  reader.reset();  // its files are mapped
  if (data.validation) {
    shared.unigram_entropy = data::unigram_entropy(*data.validation, 0, data.requested.valid, pool);
  }
  shared.bytes_here = bytes_here(run.request, ranks);
  shared.are_processes = ranks.are_processes();
  ranks.run(run.request.topology, [&](LocalRank& rank) { run_rank(run, shared, rank); });
}

}  // namespace trireme::app
