#pragma once
#include <cstdint>
#include <optional>

#include "config/group.h"

namespace trireme::config {

/// How much is trained on, in which pieces, from which seed.
struct BatchOptions {
  int64_t micro_batch_size = 0;                   ///< b, sequences
  std::optional<int64_t> global_batch_size = {};  ///< B, sequences; b d when not set
  int64_t train_iters = 0;
  int64_t seed = 1234;

  bool operator==(const BatchOptions&) const = default;
  static const Group& group();
  /// b divides B. (b d divides B is a rule of the topology, which knows d.)
  [[nodiscard]] std::optional<Conflict> validate() const;
};

}  // namespace trireme::config
