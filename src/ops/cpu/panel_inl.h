// Small matrix products on one thread with operands in the nearer caches, for attention: the
// reduction runs in ascending order, one FMA per term. Once per kind of vector unit.
#if defined(TRIREME_OPS_CPU_PANEL_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TRIREME_OPS_CPU_PANEL_INL_H
#undef TRIREME_OPS_CPU_PANEL_INL_H
#else
#define TRIREME_OPS_CPU_PANEL_INL_H
#endif

#include <hwy/cache_control.h>

#include "ops/cpu/block_inl.h"

HWY_BEFORE_NAMESPACE();
namespace trireme::ops::cpu {
namespace HWY_NAMESPACE {

constexpr int64_t kBlockRows = 6;
constexpr int64_t kBlockVectors = kManyRegisters ? 4 : 2;
constexpr int64_t kPanelColumns = kBlockVectors * kLanes;

using PanelFunction = void (*)(StridedLeft, const float*, int64_t, int64_t, BlockOutput,
                               NothingAhead&);

template <int Vectors>
HWY_INLINE PanelFunction block_of_rows(int64_t rows) {
  constexpr PanelFunction kFunctions[kBlockRows] = {
      multiply_block<1, Vectors, StridedLeft, NothingAhead>,
      multiply_block<2, Vectors, StridedLeft, NothingAhead>,
      multiply_block<3, Vectors, StridedLeft, NothingAhead>,
      multiply_block<4, Vectors, StridedLeft, NothingAhead>,
      multiply_block<5, Vectors, StridedLeft, NothingAhead>,
      multiply_block<6, Vectors, StridedLeft, NothingAhead>};
  return kFunctions[rows - 1];
}

/// c [rows, columns] (+)= a [rows, terms] b [terms, columns] for at most kBlockRows rows and
/// kPanelColumns columns. Columns count up to the next whole vector: b and c have memory for them.
HWY_INLINE void multiply(int64_t rows, int64_t columns, int64_t terms, StridedLeft a,
                         const float* b, int64_t b_stride, bool accumulate, float* c,
                         int64_t c_stride) {
  PanelFunction function = nullptr;
  switch ((columns + kLanes - 1) / kLanes) {
    case 1:
      function = block_of_rows<1>(rows);
      break;
    case 2:
      function = block_of_rows<2>(rows);
      break;
#if !(HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_AVX2)
    case 3:
      function = block_of_rows<3>(rows);
      break;
    default:
      function = block_of_rows<4>(rows);
      break;
#endif
  }
  NothingAhead nothing;
  function(a, b, b_stride, terms, {.data = c, .stride = c_stride, .accumulate = accumulate},
           nothing);
}

/// Rows of a head lie so far apart that the processor does not see the next one coming.
HWY_INLINE void prefetch_row(const float* row, int64_t columns) {
  for (int64_t i = 0; i < columns; i += 16) hwy::Prefetch(row + i);
}
constexpr int64_t kPrefetchRows = 8;

/// to [rows, width] = from [rows, columns] times a factor, the rest of each row zero.
HWY_INLINE void copy_rows(const float* from, int64_t from_stride, int64_t rows, int64_t columns,
                          float factor, float* to, int64_t width) {
  const FloatVector factor_v = hn::Set(kFloats, factor);
  for (int64_t row = 0; row < rows; ++row) {
    if (row + kPrefetchRows < rows) {
      prefetch_row(from + (row + kPrefetchRows) * from_stride, columns);
    }
    over_row(columns, [&](auto lanes, int64_t i) HWY_ATTR {
      const FloatVector v = hn::Mul(lanes.load(from + row * from_stride + i), factor_v);
      hn::StoreU(v, kFloats, to + row * width + i);
    });
    const int64_t end = (columns + kLanes - 1) / kLanes * kLanes;
    for (int64_t i = end; i < width; i += kLanes) {
      hn::StoreU(hn::Zero(kFloats), kFloats, to + row * width + i);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace trireme::ops::cpu
HWY_AFTER_NAMESPACE();
#endif
