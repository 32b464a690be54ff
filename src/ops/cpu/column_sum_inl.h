// Column sums in fixed blocks of rows, once per kind of vector unit.
#if defined(TRIREME_OPS_CPU_COLUMN_SUM_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TRIREME_OPS_CPU_COLUMN_SUM_INL_H
#undef TRIREME_OPS_CPU_COLUMN_SUM_INL_H
#else
#define TRIREME_OPS_CPU_COLUMN_SUM_INL_H
#endif

#include "ops/cpu/vector_inl.h"

HWY_BEFORE_NAMESPACE();
namespace trireme::ops::cpu {
namespace HWY_NAMESPACE {

/// sums[c] = sum over the rows, in ascending order, of term(lanes, row, c), for c in [0, columns).
template <class Term>
HWY_INLINE void sum_columns(int64_t first_row, int64_t last_row, int64_t columns, float* sums,
                            const Term& term) {
  over_row(columns,
           [&](auto lanes, int64_t c) HWY_ATTR { lanes.store(hn::Zero(kFloats), sums + c); });
  int64_t row = first_row;
  // Four rows per pass: the running sums stay in registers meanwhile.
  for (; row + 4 <= last_row; row += 4) {
    over_row(columns, [&](auto lanes, int64_t c) HWY_ATTR {
      FloatVector sum = lanes.load(sums + c);
      sum = hn::Add(sum, term(lanes, row, c));
      sum = hn::Add(sum, term(lanes, row + 1, c));
      sum = hn::Add(sum, term(lanes, row + 2, c));
      sum = hn::Add(sum, term(lanes, row + 3, c));
      lanes.store(sum, sums + c);
    });
  }
  for (; row < last_row; ++row) {
    over_row(columns, [&](auto lanes, int64_t c) HWY_ATTR {
      lanes.store(hn::Add(lanes.load(sums + c), term(lanes, row, c)), sums + c);
    });
  }
}

/// out[c] (+)= the sum of the blocks' partial sums in ascending order, for c in [first, last);
/// partials [blocks, columns].
HWY_INLINE void join_partial_sums(const float* partials, int64_t blocks, int64_t columns,
                                  int64_t first, int64_t last, bool accumulate, float* out) {
  over_row(last - first, [&](auto lanes, int64_t i) HWY_ATTR {
    const int64_t c = first + i;
    FloatVector sum = lanes.load(partials + c);
    for (int64_t block = 1; block < blocks; ++block) {
      sum = hn::Add(sum, lanes.load(partials + block * columns + c));
    }
    if (accumulate) sum = hn::Add(lanes.load(out + c), sum);
    lanes.store(sum, out + c);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace trireme::ops::cpu
HWY_AFTER_NAMESPACE();
#endif
