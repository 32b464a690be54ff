// trireme verify: whether a run that is cut over ranks computes what one rank computes.

#include <algorithm>
#include <atomic>

#include "app/commands.h"
#include "app/decided_run.h"
#include "app/one_mind.h"
#include "app/plan_text.h"
#include "app/train_run.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "train/checkpointing.h"
#include "train/fit.h"
#include "train/places.h"
#include "train/resume.h"
#include "train/run_data.h"
#include "train/verify/tiny.h"
#include "train/verify/verify.h"

namespace trireme::app {
namespace {

enum class Scale { full, tiny };

struct VerifyCommandOptions {
  train::TrainOptions run;
  int64_t steps = 3;
  Scale scale = Scale::full;
  bool all = false;
  bool json = false;

  static const config::Group& group() {
    using O = VerifyCommandOptions;
    static const config::Group table = {
        "Verification",
        "how much is compared and printed",
        {config::field(&O::steps, {.name = "steps",
                                   .help = "global batches that both runs train on",
                                   .range = config::between(1, 1000),
                                   .saved = false}),
         config::field(
             &O::scale,
             {.name = "scale",
              .help = "sizes of the model and its batch: those of the run, or as small as "
                      "its cut allows, with fresh weights",
              .words = {"full", "tiny"},
              .saved = false}),
         config::field(&O::all, {.name = "all",
                                 .help = "print every tensor and value; without, those that come "
                                         "nearest to their tolerance",
                                 .saved = false}),
         config::field(&O::json, {.name = "json",
                                  .help = "print every comparison of every step as JSON",
                                  .saved = false})}};
    return table;
  }
  [[nodiscard]] std::optional<config::Conflict> validate() const {
    if (!all || !json) return std::nullopt;
    return config::Conflict{.names = {"all", "json"},
                            .what = "--all and --json are both given",
                            .rule = "JSON has every comparison",
                            .remedy = "leave --all out"};
  }
};

void declare(VerifyCommandOptions& options, config::OptionSet& set) {
  options.run.declare(set);
  set.add(options);
  set.replace(config::megatron::pretrain_gpt());
}

constexpr size_t kRows = 12;

// Only what the steps train on is opened.
train::TrainOptions options_of(const VerifyCommandOptions& command, const Ranks& ranks) {
  train::TrainOptions options = command.run;
  // A run shorter than what is compared has no samples for it.
  std::optional<int64_t>& length = options.batch.train_iters;
  if (length) length = std::max(*length, command.steps);
  options.logging.eval_iters = 0;
  options.data.valid_data_path.clear();
  options.data.test_data_path.clear();
  if (!options.data.named()) {
    note("no data are named: the runs train on mock data");
    options.data.mock_data = true;
  }
  if (command.scale == Scale::full) return options;
  if (options.checkpoint.load) note("--scale tiny has fresh weights: --load is left out");
  return train::tiny_options(options, train::topology(options.parallel, ranks.count(),
                                                      train::rank_order(options.communication)));
}

// All ranks of this machine, the one-rank run on it and, of each, weights and moments once more.
int64_t bytes_to_verify(const model::RunRequest& request, const model::RunPlan& one_rank,
                        const Ranks& ranks) {
  const int64_t copies = 12 * one_rank.table.parameters() * request.topology.data();
  return bytes_here(request, ranks) + one_rank.memory.total() +
         copies * ranks.here() / ranks.count();
}

int run(const VerifyCommandOptions& command, const config::OptionSet& set) {
  const Ranks ranks(command.run.engine);
  const train::TrainOptions options = options_of(command, ranks);
  const DecidedRun decided = decide_run(options, ranks);
  const int threads = std::max(1, usable_cores());
  for (const std::string& line : decided.cut.notes()) note(line);
  if (!command.json) say_plan(model::plan_run(decided.request), decided.cut, decided.course.batch);

  std::optional<int64_t> chosen;
  if (!is_quiet()) {  // the first rank is here
    const auto reader = train::checkpoint_to_continue(options.checkpoint);
    if (reader) train::require_continuable(*reader, options, decided.request.topology);
    if (reader) chosen = reader->manifest().run.iteration;
  }
  ThreadPool pool(threads);
  const train::RunData data = train::open_run_data(
      options, decided.course, decided.request.shape.vocabulary, decided.words(), pool);
  const auto seed = static_cast<uint32_t>(options.batch.seed);
  const int64_t bytes = bytes_to_verify(
      decided.request, model::plan_run(train::one_rank_request(decided.request, threads)), ranks);

  std::atomic<bool> sound = true;
  ranks.run(decided.request.topology, [&](LocalRank& rank) {
    require_one_mind(rank, "verify", set.views(), train::data_subject(data));
    model::RunRequest request = decided.request;
    request.at = rank.at();
    train::require_memory(request, model::plan_run(request), bytes, *rank.backend().device);
    const std::optional<int64_t> loaded = told_by_first({rank.world(), rank.host_stream()}, chosen);
    const auto start = [&](engine::Session& session, ThreadPool& cores) {
      if (!loaded) {
        train::initialise_weights(session, seed, cores);
        return train::Position{};
      }
      auto checkpoint =
          checkpoint::CheckpointReader::of_iteration(*options.checkpoint.load, *loaded);
      return train::load_checkpoint(session, checkpoint);
    };
    const train::VerifyReport report = train::verify(
        {.request = request,
         .data = data.train,
         .course = decided.course.batch,
         // The largest rate of the run: a warm-up begins with updates of zero.
         .rate = {.style = config::LrDecayStyle::constant, .most = options.optimizer.lr},
         .seed = seed,
         .reading = train::feed_options(options.data),
         .overfit = options.debug.overfit_batch,
         .steps = static_cast<int>(command.steps),
         .same_bits = options.engine.device == "cpu" && !decided.cut.adds_otherwise(),
         .start = start},
        {.backend = rank.backend(),
         .groups = rank.groups(),
         .world = rank.world(),
         .host_stream = rank.host_stream(),
         .pool = rank.pool(),
         .one_rank_threads = threads});
    if (!report.is_sound()) sound = false;
    if (rank.is_first()) say(command.json ? report.json() : report.text(command.all ? 0 : kRows));
  });
  return sound ? 0 : 1;
}

}  // namespace

Command verify_command() {
  return make_command<VerifyCommandOptions>(
      {.name = "verify",
       .summary = "hold a run that is cut over ranks against one rank",
       .about =
           "Takes the options of `trireme train` and trains a few steps twice: on the ranks of the "
           "run, and on one rank with the same model, data, seed and global batch. Compares what "
           "every op makes, the loss, every gradient, the moments and the updates, prints the "
           "largest differences beside their tolerances, and names the first tensor that is out in "
           "the order of the data flow; the exit status is 1 then. Nothing is saved.",
       .examples =
           "trireme verify --config examples/quickstart.toml --vocab-size 50257 --train-iters 100 "
           "--mock-data --ranks 8 --pipeline-model-parallel-size 2 --tensor-model-parallel-size 2 "
           "--global-batch-size 32 --scale tiny\n"
           "trireme verify --config examples/quickstart.toml --data-path corpus_text_document "
           "--tokenizer-model tokenizer --train-iters 500 --load checkpoints --ranks 2 "
           "--tensor-model-parallel-size 2 --steps 1 --all"},
      declare, run);
}

}  // namespace trireme::app
