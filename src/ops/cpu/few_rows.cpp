#include "ops/cpu/few_rows.h"

#include <hwy/cache_control.h>

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "ops/cpu/targets.h"
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/cpu/few_rows.cpp"
#include <hwy/foreach_target.h>
#include "ops/cpu/block_inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace trireme::ops::cpu {
namespace HWY_NAMESPACE {

// As many as the registers hold sums of beside four vectors of lines.
constexpr int kMostRows = kManyRegisters ? 8 : 4;
constexpr int64_t kCacheLine = 16;  // floats

int64_t most_rows() {
  return kMostRows;
}

// The vector whose parts of four floats lie `step` apart.
template <class D>
HWY_INLINE hn::Vec<D> load_parts(D d, const float* from, int64_t step) {
  if constexpr (hn::MaxLanes(D()) <= 4) {
    return hn::LoadU(d, from);
  } else {
    const hn::Half<D> half;
    constexpr auto kHalfParts = static_cast<int64_t>(hn::MaxLanes(D())) / 8;
    return hn::Combine(d, load_parts(half, from + kHalfParts * step, step),
                       load_parts(half, from, step));
  }
}

// Four terms of a vector's worth of lines: of[k] has term k of each.
struct FourTerms {
  FloatVector of[4];

  HWY_INLINE FourTerms(const float* lines, int64_t stride) {
    const hn::RepartitionToWide<Floats> pairs;
    const FloatVector line0 = load_parts(kFloats, lines, 4 * stride);
    const FloatVector line1 = load_parts(kFloats, lines + stride, 4 * stride);
    const FloatVector line2 = load_parts(kFloats, lines + 2 * stride, 4 * stride);
    const FloatVector line3 = load_parts(kFloats, lines + 3 * stride, 4 * stride);
    const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(kFloats, line0, line1));
    const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(kFloats, line2, line3));
    const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(kFloats, line0, line1));
    const auto high23 = hn::BitCast(pairs, hn::InterleaveUpper(kFloats, line2, line3));
    of[0] = hn::BitCast(kFloats, hn::InterleaveLower(pairs, low01, low23));
    of[1] = hn::BitCast(kFloats, hn::InterleaveUpper(pairs, low01, low23));
    of[2] = hn::BitCast(kFloats, hn::InterleaveLower(pairs, high01, high23));
    of[3] = hn::BitCast(kFloats, hn::InterleaveUpper(pairs, high01, high23));
  }
};

// sums[row] = the chain over a block of terms for kLanes lines. soon: what the caller reads next
// but one cache line, `stride` apart.
template <int Rows>
HWY_INLINE void add_up(const float* lines, int64_t stride, const float* soon, const float* left,
                       int64_t left_stride, int64_t terms, FloatVector (&sums)[Rows]) {
#pragma GCC unroll 8
  for (int row = 0; row < Rows; ++row) sums[row] = hn::Zero(kFloats);
  int64_t term = 0;
  const auto add_four = [&]() HWY_ATTR {
    const FourTerms four(lines + term, stride);
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) {
#pragma GCC unroll 8
      for (int row = 0; row < Rows; ++row) {
        sums[row] =
            hn::MulAdd(hn::Set(kFloats, left[row * left_stride + term + k]), four.of[k], sums[row]);
      }
    }
    term += 4;
  };
  while (term + kCacheLine <= terms) {
    for (int64_t line = 0; line < kLanes; ++line) hwy::Prefetch(soon + term + line * stride);
    for (int i = 0; i < 4; ++i) add_four();
  }
  while (term + 4 <= terms) add_four();
  for (; term < terms; ++term) {
    HWY_ALIGN float lanes[kLanes];
    for (int64_t line = 0; line < kLanes; ++line) lanes[line] = lines[line * stride + term];
    const FloatVector one = hn::Load(kFloats, lanes);
    for (int row = 0; row < Rows; ++row) {
      sums[row] = hn::MulAdd(hn::Set(kFloats, left[row * left_stride + term]), one, sums[row]);
    }
  }
}

// A vector's worth of output columns, or the last of them.
template <int Rows>
HWY_NOINLINE void multiply_lines(const Multiplication& product, int64_t column) {
  const int64_t count = std::min(kLanes, product.columns - column);
  const float* lines = product.right.data + column * product.right.stride;
  for (int64_t first = 0; first < product.terms; first += kProductTerms) {
    const int64_t terms = std::min(kProductTerms, product.terms - first);
    const float* left = product.left.data + first;
    FloatVector sums[Rows];
    if (count == kLanes) {
      const int64_t stride = product.right.stride;
      // The end of these lines is followed by the beginning of the next ones.
      const bool last = first + terms == product.terms;
      const float* soon = lines + first + (last ? kLanes * stride - first : terms);
      add_up<Rows>(lines + first, stride, soon, left, product.left.stride, terms, sums);
    } else {
      HWY_ALIGN float copy[kLanes * kProductTerms] = {};
      for (int64_t line = 0; line < count; ++line) {
        std::memcpy(copy + line * terms, lines + line * product.right.stride + first,
                    static_cast<size_t>(terms) * sizeof(float));
      }
      add_up<Rows>(copy, terms, copy, left, product.left.stride, terms, sums);
    }
    const float* bias = product.bias == nullptr ? nullptr : product.bias + column;
    for (int row = 0; row < Rows; ++row) {
      float* out = product.out + row * product.columns + column;
      const float* from = first > 0 ? out : bias;
      over_row(count, [&](auto lanes, int64_t i) HWY_ATTR {
        lanes.store(from == nullptr ? sums[row] : hn::Add(lanes.load(from + i), sums[row]),
                    out + i);
      });
    }
  }
}

void multiply_columns(const Multiplication& product, int64_t first, int64_t end) {
  constexpr void (*kByRows[])(const Multiplication&, int64_t) = {
    multiply_lines<1>,
    multiply_lines<2>,
    multiply_lines<3>,
    multiply_lines<4>,
#if HWY_TARGET != HWY_SSE4 && HWY_TARGET != HWY_AVX2
    multiply_lines<5>,
    multiply_lines<6>,
    multiply_lines<7>,
    multiply_lines<8>
#endif
  };
  for (int64_t column = first; column < end; column += kLanes)
    kByRows[product.rows - 1](product, column);
}

}  // namespace HWY_NAMESPACE
}  // namespace trireme::ops::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trireme::ops::cpu {
namespace {

HWY_EXPORT(most_rows);
HWY_EXPORT(multiply_columns);

// Columns of a task: whole vectors of every machine.
constexpr int64_t kTaskColumns = 64;

}  // namespace

bool rows_are_few(const Multiplication& product) {
  return product.rows <= HWY_DYNAMIC_DISPATCH(most_rows)() && !product.left.by_term &&
         !product.right.by_term && !product.accumulate;
}

void multiply_few_rows(ThreadPool& pool, const Multiplication& product) {
  const auto task = [&](int64_t index, int) {
    const int64_t first = index * kTaskColumns;
    HWY_DYNAMIC_DISPATCH(multiply_columns)
    (product, first, std::min(first + kTaskColumns, product.columns));
  };
  const int64_t tasks = (product.columns + kTaskColumns - 1) / kTaskColumns;
  if (product_is_small(product)) {
    for (int64_t index = 0; index < tasks; ++index) task(index, 0);
  } else {
    pool.parallel_for(tasks, task);
  }
}

}  // namespace trireme::ops::cpu
#endif
