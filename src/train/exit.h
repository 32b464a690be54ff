#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "config/groups/batch.h"

namespace trireme::train {

/// Catches SIGUSR1, SIGTERM, SIGINT (Ctrl-C) and SIGHUP as long as it lives: the run ends behind
/// the step under way, with a save. A second one of the last three ends the process at once, as it
/// does without this. Who reads the log may go away (SIGPIPE): training goes on. One at a time.
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

  /// As in "--exit-interval 100", "SIGTERM"; none: training goes on.
  [[nodiscard]] std::optional<std::string> reason(int64_t iteration) const;

 private:
  std::optional<int64_t> interval_;
  std::optional<double> minutes_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace trireme::train
