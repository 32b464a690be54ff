#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "config/groups/batch.h"

namespace trireme::train {

/// Catches SIGUSR1, SIGTERM, SIGINT (Ctrl-C) and SIGHUP as long as it lives: the run ends behind
/// the step under way, with a save. A second one of the last three ends the process at once, as it
/// does without this. Who reads the log may go away (SIGPIPE): training goes on. Where several
/// live, one for each rank that is a thread, the last one to go puts things back.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// The name of the signal that came; none yet.
  [[nodiscard]] static std::optional<std::string> caught();
};

/// Why a run ends before its length. Asked behind every step.
class ExitRule {
 public:
  /// start: minutes count from it.
  ExitRule(const config::BatchOptions& options, std::chrono::steady_clock::time_point start)
      : interval_(options.exit_interval), minutes_(options.exit_duration_in_mins), start_(start) {}

  /// What this rank knows of: a signal that it caught, or that the minutes are over. The largest
  /// vote of all ranks counts, so that all end at the same step. 0: training goes on.
  [[nodiscard]] double vote() const;

  /// As in "--exit-interval 100", "SIGTERM", by the largest vote; none: training goes on.
  [[nodiscard]] std::optional<std::string> reason(int64_t iteration, double vote) const;

 private:
  std::optional<int64_t> interval_;
  std::optional<double> minutes_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace trireme::train
