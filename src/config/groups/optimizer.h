#pragma once
#include <cstdint>
#include <optional>

#include "config/group.h"

namespace trireme::config {

enum class LrDecayStyle { constant, linear, cosine };

/// AdamW and the learning rate's course.
struct OptimizerOptions {
  double lr = 0;
  double min_lr = 0;
  LrDecayStyle lr_decay_style = LrDecayStyle::linear;
  std::optional<int64_t> lr_decay_iters = {};  ///< train_iters when not set
  int64_t lr_warmup_iters = 0;
  std::optional<double> lr_warmup_fraction = {};  ///< of lr_decay_iters
  double lr_warmup_init = 0;
  double weight_decay = 0.01;
  double adam_beta1 = 0.9;
  double adam_beta2 = 0.999;
  double adam_eps = 1e-8;
  double clip_grad = 1.0;  ///< global norm; 0 for no clipping

  bool operator==(const OptimizerOptions&) const = default;
  static const Group& group();
  /// min_lr and lr_warmup_init at most lr; one way to give the warm-up, shorter than the decay.
  [[nodiscard]] std::optional<Conflict> validate() const;
};

}  // namespace trireme::config
