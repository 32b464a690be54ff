#pragma once
#include <chrono>
#include <optional>
#include <span>

#include "app/ranks.h"
#include "config/group.h"
#include "model/run_plan.h"
#include "text/tokenizer.h"
#include "train/batch_course.h"
#include "train/options.h"
#include "train/run_data.h"
#include "train/together.h"

namespace trireme::app {

/// A training run that is decided; what all of its ranks know.
struct TrainRun {
  const train::TrainOptions& options;
  std::vector<config::GroupView> saved;  ///< the effective options, which checkpoints keep
  const model::RunRequest& request;      ///< of the first rank; the others differ in `at`
  const train::RunCourse& course;
  const text::Tokenizer* words;  ///< null: none
  std::optional<int64_t> memory_at_start;
  std::chrono::steady_clock::time_point start;
};

/// The iteration of the checkpoint that the first rank has chosen, which the others have not looked
/// for. A collective.
[[nodiscard]] std::optional<int64_t> told_by_first(const train::World& world,
                                                   std::optional<int64_t> loaded);

/// Trains on all ranks to the end of the run; the first one tells how it goes.
void run_training(const TrainRun& run, const Ranks& ranks);

}  // namespace trireme::app
