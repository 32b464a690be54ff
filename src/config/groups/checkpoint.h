#pragma once
#include <cstdint>
#include <optional>

#include "config/group.h"

namespace trireme::config {

/// Where a run is saved and continued from.
struct CheckpointOptions {
  std::optional<Path> save = {};
  std::optional<Path> load = {};
  std::optional<int64_t> ckpt_step = {};  ///< the newest when not set
  bool exit_on_missing_checkpoint = false;
  bool load_newest_whole = false;
  std::optional<int64_t> save_interval = {};         ///< iterations; only at the end when not set
  std::optional<int64_t> keep_last = {};             ///< checkpoints; all when not set
  std::optional<int64_t> save_retain_interval = {};  ///< iterations

  bool operator==(const CheckpointOptions&) const = default;
  static const Group& group();
  /// Rules of saving need a folder, and checkpoints to keep have to be saved.
  [[nodiscard]] std::optional<Conflict> validate() const;
};

}  // namespace trireme::config
