#pragma once
#include <cstdint>

#include "core/random.h"
#include "program/operand.h"

namespace trireme::ops::reference {

/// What a dropout place does to the elements of one sample's global tensor, in the random format of
/// docs/formats.md. Elements are row-major with the innermost extent rounded up by random_row().
class DropoutMask {
 public:
  DropoutMask(const program::Dropout& dropout, int32_t seed, uint32_t layer, int64_t sample)
      : stream_{.seed = static_cast<uint32_t>(seed),
                .site = dropout.site,
                .layer = layer,
                .sample = static_cast<uint64_t>(sample)},
        threshold_(drop_threshold(dropout.probability)),
        scale_(static_cast<float>(1 / (1 - dropout.probability))) {}

  /// The factor on an element: 0, or 1/(1-p) rounded to float.
  [[nodiscard]] double factor(int64_t element) const {
    return stream_.bits(static_cast<uint64_t>(element)) >= threshold_ ? double{scale_} : 0.0;
  }

 private:
  RandomStream stream_;
  uint32_t threshold_;
  float scale_;
};

}  // namespace trireme::ops::reference
