#pragma once
#include <cstdint>
#include <optional>

#include "config/group.h"

namespace trireme::config {

/// What helps to look into a run.
struct DebugOptions {
  bool overfit_batch = false;
  std::optional<Path> dump = {};
  std::optional<Path> trace = {};
  int64_t inspect_iters = 1;  ///< that are dumped or traced, from the first of this start

  bool operator==(const DebugOptions&) const = default;
  static const Group& group();
  [[nodiscard]] std::optional<Conflict> validate() const;
};

}  // namespace trireme::config
