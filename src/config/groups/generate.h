#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "config/group.h"

namespace trireme::config {

/// Sampling from a trained model.
struct GenerateOptions {
  Path load = {};
  std::optional<int64_t> ckpt_step = {};  ///< the newest when not set
  std::string prompt = {};                ///< empty: starts from the end-of-text token
  int64_t num_tokens = 100;
  int64_t num_samples = 1;
  double temperature = 1.0;  ///< 0: always the likeliest token
  int64_t top_k = 0;         ///< 0: no limit
  double top_p = 0.0;        ///< 0: no limit
  int64_t seed = 1234;

  bool operator==(const GenerateOptions&) const = default;
  static const Group& group();
  /// Greedy decoding takes no sampling limits.
  [[nodiscard]] std::optional<Conflict> validate() const;
};

}  // namespace trireme::config
