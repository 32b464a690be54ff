#pragma once
#include <cstdint>
#include <optional>

#include "config/group.h"

namespace trireme::config {

enum class LrDecayStyle { constant, linear, cosine, inverse_square_root, wsd };
/// The decay at the end of wsd (warm-up, stable, decay).
enum class WsdDecayStyle { exponential, linear, cosine, minus_sqrt };

/// AdamW and the learning rate's course.
struct OptimizerOptions {
  double lr = 0;
  double min_lr = 0;
  LrDecayStyle lr_decay_style = LrDecayStyle::linear;
  std::optional<int64_t> lr_decay_iters = {};  ///< the run's length when neither is set
  std::optional<int64_t> lr_decay_samples = {};
  int64_t lr_warmup_iters = 0;
  int64_t lr_warmup_samples = 0;
  std::optional<double> lr_warmup_fraction = {};  ///< of the decay's length
  WsdDecayStyle lr_wsd_decay_style = WsdDecayStyle::exponential;
  std::optional<int64_t> lr_wsd_decay_iters = {};
  std::optional<int64_t> lr_wsd_decay_samples = {};
  double lr_warmup_init = 0;
  double weight_decay = 0.01;
  double adam_beta1 = 0.9;
  double adam_beta2 = 0.999;
  double adam_eps = 1e-8;
  double clip_grad = 1.0;  ///< global norm; 0 for no clipping

  bool operator==(const OptimizerOptions&) const = default;
  static const Group& group();
  /// min_lr and lr_warmup_init at most lr; one way to give each length; a warm-up shorter than the
  /// decay; the last decay of WSD, and for WSD only.
  [[nodiscard]] std::optional<Conflict> validate() const;
};

}  // namespace trireme::config
