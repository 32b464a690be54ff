// The innermost loop of every matrix product: one block of output whose sums stay in registers.
// Once per kind of vector unit.
#if defined(TRIREME_OPS_CPU_BLOCK_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TRIREME_OPS_CPU_BLOCK_INL_H
#undef TRIREME_OPS_CPU_BLOCK_INL_H
#else
#define TRIREME_OPS_CPU_BLOCK_INL_H
#endif

#include <hwy/cache_control.h>

#include <algorithm>

#include "ops/cpu/ahead_inl.h"
#include "ops/cpu/vector_inl.h"

HWY_BEFORE_NAMESPACE();
namespace trireme::ops::cpu {
namespace HWY_NAMESPACE {

/// 32 vector registers, or 16 as before AVX-512: what a block's sums, one row of the right factor
/// and one element of the left factor have to share.
#if HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_AVX2
constexpr bool kManyRegisters = false;
#else
constexpr bool kManyRegisters = true;
#endif

/// A left factor: element (row, term) is at data[row row_stride + term term_stride].
struct StridedLeft {
  const float* data;
  int64_t row_stride;
  int64_t term_stride;
};

/// A left factor packed term by term, Rows elements each.
template <int Rows>
struct PackedLeft {
  const float* data;
  static constexpr int64_t row_stride = 1;
  static constexpr int64_t term_stride = Rows;
};

/// Where a block's sums go, and what they are added to: nothing, what is there, or a row that is
/// the same for all rows.
struct BlockOutput {
  float* data;
  int64_t stride;
  bool accumulate = false;
  const float* bias = nullptr;
};

/// out [Rows, Vectors vectors] = left [Rows, terms] right [terms, Vectors vectors], each element
/// one chain of multiply-adds over ascending terms from zero, then one addition to what it starts
/// from. Asks for what is ahead Rows times on the way.
// The pragmas: the sums become registers only where the loops over them are unrolled early.
template <int Rows, int Vectors, class Left, class Ahead>
HWY_NOINLINE void multiply_block(Left left, const float* right, int64_t right_stride, int64_t terms,
                                 BlockOutput out, Ahead& ahead) {
  FloatVector sums[Rows][Vectors];
#pragma GCC unroll 16
  for (int row = 0; row < Rows; ++row) {
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) sums[row][v] = hn::Zero(kFloats);
  }
  // The output comes from far away. Asking for it a row at a time leaves the processor's few
  // places for lines on their way to the right factor.
  const float* soon = out.data;
  const int64_t step = (terms + Rows - 1) / Rows;
  for (int64_t term = 0; term < terms;) {
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) hwy::Prefetch(soon + v * kLanes);
    soon += out.stride;
    ahead.ask();
    for (const int64_t end = std::min(term + step, terms); term < end; ++term) {
      FloatVector factors[Vectors];
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v) factors[v] = hn::LoadU(kFloats, right + v * kLanes);
#pragma GCC unroll 16
      for (int row = 0; row < Rows; ++row) {
        const FloatVector factor = hn::Set(kFloats, left.data[row * left.row_stride]);
#pragma GCC unroll 4
        for (int v = 0; v < Vectors; ++v) {
          sums[row][v] = hn::MulAdd(factor, factors[v], sums[row][v]);
        }
      }
      left.data += left.term_stride;
      right += right_stride;
    }
  }
#pragma GCC unroll 16
  for (int row = 0; row < Rows; ++row) {
    const float* from = out.accumulate ? out.data : out.bias;
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) {
      FloatVector sum = sums[row][v];
      if (from != nullptr) sum = hn::Add(hn::LoadU(kFloats, from + v * kLanes), sum);
      hn::StoreU(sum, kFloats, out.data + v * kLanes);
    }
    out.data += out.stride;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace trireme::ops::cpu
HWY_AFTER_NAMESPACE();
#endif
