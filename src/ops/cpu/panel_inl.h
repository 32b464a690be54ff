// Small matrix products on one thread with operands in the nearer caches, for attention: the
// reduction runs in ascending order, one FMA per term. Once per kind of vector unit.
#if defined(TRIREME_OPS_CPU_PANEL_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TRIREME_OPS_CPU_PANEL_INL_H
#undef TRIREME_OPS_CPU_PANEL_INL_H
#else
#define TRIREME_OPS_CPU_PANEL_INL_H
#endif

#include <hwy/cache_control.h>

#include "ops/cpu/vector_inl.h"

HWY_BEFORE_NAMESPACE();
namespace trireme::ops::cpu {
namespace HWY_NAMESPACE {

// Rows and vectors of one block of output: its sums, the vectors of one row of the right factor and
// one element of the left one fit into the registers (32, or 16 before AVX-512).
constexpr int64_t kBlockRows = 6;
#if HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_AVX2
constexpr int64_t kBlockVectors = 2;
#else
constexpr int64_t kBlockVectors = 4;
#endif
constexpr int64_t kPanelColumns = kBlockVectors * kLanes;

/// The left factor: element (row, term) is at data[row row_stride + term term_stride].
struct LeftFactor {
  const float* data;
  int64_t row_stride;
  int64_t term_stride;
};

using BlockFunction = void (*)(LeftFactor a, const float* b, int64_t b_stride, int64_t terms,
                               bool accumulate, float* c, int64_t c_stride);

// c [Rows, Vectors vectors] (+)= a [Rows, terms] b [terms, Vectors vectors].
template <int Rows, int Vectors>
HWY_NOINLINE void multiply_block(LeftFactor a, const float* b, int64_t b_stride, int64_t terms,
                                 bool accumulate, float* c, int64_t c_stride) {
  FloatVector sums[Rows][Vectors];
  for (int row = 0; row < Rows; ++row) {
    for (int v = 0; v < Vectors; ++v) sums[row][v] = hn::Zero(kFloats);
  }
  for (int64_t term = 0; term < terms; ++term) {
    FloatVector right[Vectors];
    for (int v = 0; v < Vectors; ++v) right[v] = hn::LoadU(kFloats, b + v * kLanes);
    for (int row = 0; row < Rows; ++row) {
      const FloatVector left = hn::Set(kFloats, a.data[row * a.row_stride]);
      for (int v = 0; v < Vectors; ++v) {
        sums[row][v] = hn::MulAdd(left, right[v], sums[row][v]);
      }
    }
    a.data += a.term_stride;
    b += b_stride;
  }
  for (int row = 0; row < Rows; ++row) {
    for (int v = 0; v < Vectors; ++v) {
      float* at = c + row * c_stride + v * kLanes;
      if (accumulate) sums[row][v] = hn::Add(hn::LoadU(kFloats, at), sums[row][v]);
      hn::StoreU(sums[row][v], kFloats, at);
    }
  }
}

template <int Vectors>
HWY_INLINE BlockFunction block_of_rows(int64_t rows) {
  constexpr BlockFunction kFunctions[kBlockRows] = {
      multiply_block<1, Vectors>, multiply_block<2, Vectors>, multiply_block<3, Vectors>,
      multiply_block<4, Vectors>, multiply_block<5, Vectors>, multiply_block<6, Vectors>};
  return kFunctions[rows - 1];
}

/// c [rows, columns] (+)= a [rows, terms] b [terms, columns] for at most kBlockRows rows and
/// kPanelColumns columns. Columns count up to the next whole vector: b and c have memory for them.
HWY_INLINE void multiply(int64_t rows, int64_t columns, int64_t terms, LeftFactor a, const float* b,
                         int64_t b_stride, bool accumulate, float* c, int64_t c_stride) {
  BlockFunction function = nullptr;
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
  function(a, b, b_stride, terms, accumulate, c, c_stride);
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

/// The transpose of from [rows, columns] in panels of kPanelColumns: element (row, column) goes to
/// to[panel][column][row within the panel]. The last panel's missing rows are zero.
HWY_INLINE void transpose_to_panels(const float* from, int64_t from_stride, int64_t rows,
                                    int64_t columns, float* to) {
  for (int64_t first = 0; first < rows; first += kPanelColumns) {
    float* panel = to + first * columns;
    for (int64_t j = 0; j < kPanelColumns; ++j) {
      const float* row = from + (first + j) * from_stride;
      if (first + j + kPrefetchRows < rows) {
        prefetch_row(row + kPrefetchRows * from_stride, columns);
      }
      for (int64_t column = 0; column < columns; ++column) {
        panel[column * kPanelColumns + j] = first + j < rows ? row[column] : 0.0F;
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace trireme::ops::cpu
HWY_AFTER_NAMESPACE();
#endif
