#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/batches.h"
#include "train/curve.h"
#include "train/metrics.h"
#include "train/options.h"
#include "train/together.h"
#include "train/trainer.h"

namespace trireme::train {

/// What a run is beside its trainer.
struct Run {
  const TrainOptions& options;
  World world;
  engine::Session& session;
  Trainer& trainer;
  std::shared_ptr<const data::Batches> validation;  ///< null: no validation
  RunRates rates;
  int64_t validation_batch = 0;  ///< sequences of one of the --eval-iters batches
  double unigram_entropy = 0;    ///< of the held-out part, nats per token; 0: unknown
  /// --exit-duration-in-mins counts from here.
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  /// Called at intervals and at the end, by all ranks; throws on all or on none. Empty: nothing is
  /// saved.
  std::function<void()> save = {};
  /// The first rank's, called after each save that succeeded; returns the iterations that it
  /// removed.
  std::function<std::vector<int64_t>()> remove_old = {};
};

/// What a run came to.
struct RunResult {
  Curve curve;
  std::optional<double> validation_loss;  ///< the last one
  double seconds = 0;
  int64_t tokens = 0;
};

/// Steps to the end of the run, or until an exit rule or a signal says so (saves first). Log lines,
/// validations and saves at their intervals. A loss or gradient norm that is not finite is told
/// with where it first appeared, and ends the run or costs the step, as --on-nan says. A save that
/// fails is told and training goes on; the last one fails the run. Checkpoints that cannot be
/// removed are told.
RunResult run_loop(Run& run);

}  // namespace trireme::train
