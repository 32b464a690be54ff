#pragma once
#include <cstdint>
#include <optional>

#include "app/ranks.h"
#include "model/run_plan.h"
#include "text/tokenizer.h"
#include "train/batch_course.h"
#include "train/cut.h"
#include "train/options.h"

namespace trireme::app {

/// A training run as its options decide it, before anything is opened or allocated; for all who
/// train, show or verify one.
struct DecidedRun {
  std::optional<text::Tokenizer> tokenizer;
  train::RunCourse course;
  train::Cut cut;
  model::RunRequest request;  ///< of the first rank; the others differ in `at`

  /// Null: none.
  [[nodiscard]] const text::Tokenizer* words() const { return tokenizer ? &*tokenizer : nullptr; }
};

/// Usage error, with rule and remedy, where the options contradict each other, the ranks or the
/// tokenizer.
[[nodiscard]] DecidedRun decide_run(const train::TrainOptions& options, const Ranks& ranks);

/// What the ranks of the run that are on this machine need.
[[nodiscard]] int64_t bytes_here(const model::RunRequest& request, const Ranks& ranks);

}  // namespace trireme::app
