// Memory asked for while the processor multiplies. Once per kind of vector unit.
#if defined(TRIREME_OPS_CPU_AHEAD_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TRIREME_OPS_CPU_AHEAD_INL_H
#undef TRIREME_OPS_CPU_AHEAD_INL_H
#else
#define TRIREME_OPS_CPU_AHEAD_INL_H
#endif

#include <hwy/cache_control.h>

#include <algorithm>

#include "ops/cpu/multiply.h"
#include "ops/cpu/vector_inl.h"

HWY_BEFORE_NAMESPACE();
namespace trireme::ops::cpu {
namespace HWY_NAMESPACE {

/// For blocks of output that are followed by nothing from afar.
struct NothingAhead {
  HWY_INLINE void ask() {}
};

/// The part of a factor that will be packed next, asked for in small portions: the processor has
/// few places for lines on their way, and a burst would hold up the multiplication.
class FactorAhead {
 public:
  /// Some lines and terms of a factor, over so many calls of ask().
  FactorAhead(const Factor& factor, int64_t first_line, int64_t lines, int64_t first_term,
              int64_t terms, int64_t calls)
      : stride_(factor.stride) {
    const bool by_term = factor.by_term;
    row_ = factor.data + (by_term ? first_term : first_line) * stride_ +
           (by_term ? first_line : first_term);
    rows_ = by_term ? terms : lines;
    length_ = by_term ? lines : terms;
    if (length_ <= 0) rows_ = 0;
    const int64_t all = rows_ * ((length_ + kStep - 1) / kStep);
    portion_ = std::min((all + calls - 1) / calls, kLargestPortion);
  }

  HWY_INLINE void ask() {
    for (int64_t i = 0; i < portion_ && rows_ > 0; ++i) {
      hwy::Prefetch(row_ + at_);
      at_ += kStep;
      if (at_ < length_) continue;
      at_ = 0;
      row_ += stride_;
      --rows_;
    }
  }

 private:
  static constexpr int64_t kStep = 16;  // elements of a cache line
  static constexpr int64_t kLargestPortion = 8;

  const float* row_;  // as stored
  int64_t stride_, rows_, length_, portion_;
  int64_t at_ = 0;
};

}  // namespace HWY_NAMESPACE
}  // namespace trireme::ops::cpu
HWY_AFTER_NAMESPACE();
#endif
