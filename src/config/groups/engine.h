#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "config/group.h"

namespace trireme::config {

/// What the ranks run on.
struct EngineOptions {
  std::string device = "cpu";    ///< kind of device, or the file of its library
  int64_t ranks = 1;             ///< threads of this process that stand for ranks
  int64_t threads_per_rank = 0;  ///< 0: usable cores over the local ranks

  /// Not set: ten.
  std::optional<int64_t> distributed_timeout_minutes = std::nullopt;
  /// Instead of the minutes.
  std::optional<int64_t> distributed_timeout_seconds = std::nullopt;

  /// How long a rank waits for another one before it gives up.
  [[nodiscard]] std::chrono::seconds timeout() const {
    return std::chrono::seconds(
        distributed_timeout_seconds.value_or(60 * distributed_timeout_minutes.value_or(10)));
  }

  bool operator==(const EngineOptions&) const = default;
  static const Group& group();
  [[nodiscard]] std::optional<Conflict> validate() const;
};

}  // namespace trireme::config
