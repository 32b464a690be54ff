#pragma once
#include <cstdint>
#include <optional>

#include "config/group.h"

namespace trireme::config {

/// What happens to a step whose gradient is not finite: the run ends, or goes on without the step.
enum class OnNan { stop, skip };

/// How much is trained on, in which pieces, from which seed, and when the run ends early.
struct BatchOptions {
  int64_t micro_batch_size = 0;                   ///< b, sequences
  std::optional<int64_t> global_batch_size = {};  ///< B, sequences; b d when not set
  std::optional<int64_t> train_iters = {};        ///< the length of the run: this,
  std::optional<int64_t> train_samples = {};      ///< or this
  Words rampup_batch_size = {};                   ///< START INCREMENT SAMPLES
  std::optional<std::string> step_batch_size_schedule = {};
  int64_t seed = 1234;
  std::optional<int64_t> exit_interval = {};  ///< iterations
  std::optional<double> exit_duration_in_mins = {};
  OnNan on_nan = OnNan::stop;

  bool operator==(const BatchOptions&) const = default;
  static const Group& group();
  /// One length; b divides B; a ramp-up that arrives. (b d divides B is a rule of the topology,
  /// which knows d.)
  [[nodiscard]] std::optional<Conflict> validate() const;

  /// rampup_batch_size as numbers; none where it is not given.
  struct RampUp {
    int64_t start = 0;      ///< sequences of the first batch
    int64_t increment = 0;  ///< sequences
    int64_t samples = 0;    ///< until the batch has its full size
  };
  [[nodiscard]] std::optional<RampUp> ramp_up() const;
};

}  // namespace trireme::config
