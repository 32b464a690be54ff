#include "train/loop.h"

#include <cmath>
#include <optional>

#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "train/exit.h"
#include "train/inspector.h"
#include "train/run_data.h"
#include "train/tensorboard.h"

namespace trireme::train {
namespace {

// Everything that is written while a run goes on, by the rank that tells it; the others keep the
// numbers.
class Reporter {
 public:
  explicit Reporter(const Run& run)
      : run_(run),
        display_(run.options.logging.progress == config::ProgressDisplay::automatic && !is_quiet(),
                 run.rates.train_iterations) {
    result.curve.reference = run.unigram_entropy;
    result.curve.reference_name = "unigram entropy";
    if (is_quiet()) return;
    if (run.options.logging.metrics_file) {
      metrics_.emplace(*run.options.logging.metrics_file, run.trainer.position().iteration);
    }
    if (run.options.logging.tensorboard_dir)
      tensorboard_.emplace(*run.options.logging.tensorboard_dir);
  }

  void step(const StepReport& report) {
    interval_.add(report);
    if (metrics_) metrics_->step(report, run_.rates);
    if (tensorboard_ && report.iteration % run_.options.logging.tensorboard_log_interval == 0)
      tensorboard_->step(report, run_.rates);
    result.curve.train.push_back({report.iteration, report.loss});
    result.seconds += report.seconds;
    result.tokens += report.tokens;
    const bool last = report.iteration == run_.rates.train_iterations;
    if (report.iteration % run_.options.logging.log_interval == 0 || last) flush();
    display_.show(report, run_.rates);
  }

  // The log line of the steps since the last one.
  void flush() {
    if (interval_.empty()) return;
    line(log_line(interval_.take(), run_.rates, std::chrono::system_clock::now()));
  }

  void validation(int64_t iteration, double loss) {
    if (metrics_) metrics_->validation(iteration, loss, run_.unigram_entropy);
    if (tensorboard_)
      tensorboard_->validation(iteration, run_.trainer.position().consumed_samples, loss);
    result.curve.validation.push_back({iteration, loss});
    result.validation_loss = loss;
    line(validation_line(iteration, loss));
  }

  void line(const std::string& text) {
    display_.clear();
    say(text);
  }

  RunResult result;
  int64_t saved = 0;  ///< iteration of the newest checkpoint

 private:
  const Run& run_;
  LiveDisplay display_;
  std::optional<MetricsFile> metrics_;
  std::optional<TensorBoardFile> tensorboard_;
  Interval interval_;
};

double validate(const Run& run, int64_t done_validations) {
  const int64_t samples = run.options.logging.eval_iters * run.validation_batch;
  return evaluate_loss(run.session, run.validation, done_validations * samples, samples,
                       feed_options(run.options.data));
}

void remove_old(const Run& run, Reporter& reporter) {
  try {
    std::string list;
    for (const int64_t iteration : run.remove_old())
      list += format("{}{}", list.empty() ? "" : ", ", iteration);
    if (!list.empty()) reporter.line(format(" removed older checkpoints: {}", list));
  } catch (const Error& error) {
    reporter.line("");
    warn(format("older checkpoints were not removed: {}", error.what()));
  }
}

void save(const Run& run, Reporter& reporter, int64_t iteration, bool last) {
  try {
    run.save();
    reporter.saved = iteration;
    reporter.line(
        format(" saved iteration {} to {}", iteration, run.options.checkpoint.save->string()));
  } catch (const Error& error) {
    if (last) throw;
    reporter.line("");
    warn(format("iteration {} was not saved, training goes on: {}", iteration, error.what()));
    return;
  }
  if (run.remove_old) remove_old(run, reporter);
}

// Tells where a number was not finite, and ends the run unless such steps are to be skipped.
void handle_non_finite(Run& run, Reporter& reporter, const StepReport& report) {
  reporter.flush();
  if (!report.skipped) {
    fail({.where = format("iteration {}", report.iteration),
          .what = format("loss {} with a gradient norm of {}", report.loss, report.gradient_norm),
          .rule = "training goes on from finite numbers only; nothing was saved since",
          .remedy = "use a smaller --lr or a longer warm-up"});
  }
  const std::string what = format("loss {}, gradient norm {}; first {}", report.loss,
                                  report.gradient_norm, run.trainer.find_non_finite(run.world));
  if (run.options.batch.on_nan == config::OnNan::skip) {
    reporter.line("");
    warn(format("iteration {} was skipped, weights and optimizer are as before: {}",
                report.iteration, what));
    return;
  }
  fail({.where = format("iteration {}", report.iteration),
        .what = what,
        .rule = "training goes on from finite numbers only; the step was not taken, and nothing "
                "was saved since",
        .remedy = "use a smaller --lr or a longer warm-up, or pass over such steps with --on-nan "
                  "skip"});
}

// A step; where a rank that runs alone fails before it changed a weight, as where data are bad,
// what was reached is saved. Of several, the others wait for the one that failed.
StepReport step(const Run& run, Reporter& reporter) {
  try {
    return run.trainer.step();
  } catch (const Error&) {
    const int64_t iteration = run.trainer.position().iteration;
    reporter.flush();
    const bool alone = run.session.plan().topology.world_size() == 1;
    if (alone && run.save && run.trainer.weights_are_whole() && iteration > reporter.saved)
      save(run, reporter, iteration, false);
    throw;
  }
}

}  // namespace

RunResult run_loop(Run& run) {
  const config::LoggingOptions& logging = run.options.logging;
  const int64_t last = run.rates.train_iterations;
  Reporter reporter(run);
  reporter.saved = run.trainer.position().iteration;
  const StopSignals signals;
  const ExitRule exit(run.options.batch, run.start);
  run.trainer.ask([&] { return exit.vote(); });
  Inspector inspector(run.session, run.world, run.options.debug);
  if (run.trainer.position().iteration >= last) {
    reporter.line(format("nothing to do: iteration {} of {} is done",
                         run.trainer.position().iteration, last));
  }
  while (run.trainer.position().iteration < last) {
    inspector.start_iteration(run.trainer.position().iteration + 1);
    const StepReport report = step(run, reporter);
    inspector.end_iteration();
    reporter.step(report);
    if (report.skipped || !std::isfinite(report.loss)) handle_non_finite(run, reporter, report);

    const int64_t iteration = report.iteration;
    const bool whole = iteration == last;
    const std::optional<std::string> exit_reason = exit.reason(iteration, report.vote);
    const bool ends = whole || exit_reason;
    // First what may not be lost: a second signal, or a validation that fails, finds it saved.
    const auto& interval = run.options.checkpoint.save_interval;
    if (run.save && (ends || (interval && iteration % *interval == 0)))
      save(run, reporter, iteration, ends);
    if (run.validation != nullptr && (iteration % logging.eval_interval == 0 || whole)) {
      // Each validation takes the next samples of the held-out part; the first takes the first.
      reporter.validation(iteration, validate(run, (iteration - 1) / logging.eval_interval));
    }
    if (exit_reason && !whole) {
      reporter.flush();
      reporter.line(
          format("the run ends at iteration {} of {}: {}", iteration, last, *exit_reason));
      break;
    }
  }
  inspector.finish();
  return std::move(reporter.result);
}

}  // namespace trireme::train
