#pragma once
#include <cstdint>
#include <optional>

#include "config/group.h"

namespace trireme::config {

/// automatic: a live display on a terminal, plain lines elsewhere.
enum class ProgressDisplay { automatic, none };

/// What is reported and validated, and how often.
struct LoggingOptions {
  int64_t log_interval = 100;    ///< iterations
  int64_t eval_interval = 1000;  ///< iterations
  int64_t eval_iters = 100;      ///< global batches per validation; 0 for none
  std::optional<Path> metrics_file = {};
  std::optional<Path> loss_curve_file = {};
  std::optional<Path> tensorboard_dir = {};
  int64_t tensorboard_log_interval = 1;  ///< iterations
  ProgressDisplay progress = ProgressDisplay::automatic;

  bool operator==(const LoggingOptions&) const = default;
  static const Group& group();
};

}  // namespace trireme::config
