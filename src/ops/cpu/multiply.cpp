#include "ops/cpu/multiply.h"

#include <algorithm>
#include <type_traits>

#include "core/error.h"
#include "ops/cpu/few_rows.h"
#include "ops/cpu/targets.h"
#include "ops/cpu/tiles.h"
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/cpu/multiply.cpp"
#include <hwy/foreach_target.h>
#include "ops/cpu/block_inl.h"
#include "ops/cpu/pack_inl.h"
// clang-format on

#ifndef TRIREME_OPS_CPU_MULTIPLY_ONCE
#define TRIREME_OPS_CPU_MULTIPLY_ONCE
namespace trireme::ops::cpu {

// Rows, columns or terms [first, first + count).
struct Range {
  int64_t first, count;
};

}  // namespace trireme::ops::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace trireme::ops::cpu {
namespace HWY_NAMESPACE {

// A block of output: 24 vectors of sums (12), each vector of the right factor used by eight rows
// (four).
constexpr int kRows = kManyRegisters ? 8 : 4;
constexpr int kVectors = 3;
constexpr int64_t kColumns = kVectors * kLanes;
static_assert(kProductGroup % kRows == 0 && kProductPanel % kColumns == 0);

template <class Left>
using Block = void (*)(Left, const float*, int64_t, int64_t, BlockOutput, FactorAhead&);

template <class Left, int Rows>
HWY_INLINE Block<Left> block_of_rows(int64_t vectors) {
  constexpr Block<Left> kBlocks[kVectors] = {multiply_block<Rows, 1, Left, FactorAhead>,
                                             multiply_block<Rows, 2, Left, FactorAhead>,
                                             multiply_block<Rows, 3, Left, FactorAhead>};
  return kBlocks[vectors - 1];
}

template <class Left>
HWY_INLINE Block<Left> block_of(int64_t rows, int64_t vectors) {
  switch (rows) {
    case 1:
      return block_of_rows<Left, 1>(vectors);
    case 2:
      return block_of_rows<Left, 2>(vectors);
    case 3:
      return block_of_rows<Left, 3>(vectors);
#if HWY_TARGET != HWY_SSE4 && HWY_TARGET != HWY_AVX2
    case 4:
      return block_of_rows<Left, 4>(vectors);
    case 5:
      return block_of_rows<Left, 5>(vectors);
    case 6:
      return block_of_rows<Left, 6>(vectors);
    case 7:
      return block_of_rows<Left, 7>(vectors);
#endif
    default:
      return block_of_rows<Left, kRows>(vectors);
  }
}

// A block whose last vector is not whole: by way of memory that may be written to its end.
template <class Left>
HWY_NOINLINE void multiply_ragged(Block<Left> block, int64_t rows, int64_t columns, Left left,
                                  const float* right, int64_t terms, const BlockOutput& out,
                                  FactorAhead& ahead) {
  HWY_ALIGN float sums[kRows * kColumns];
  block(left, right, kColumns, terms, {.data = sums, .stride = kColumns}, ahead);
  for (int64_t row = 0; row < rows; ++row) {
    float* to = out.data + row * out.stride;
    const float* from = out.accumulate ? to : out.bias;
    over_row(columns, [&](auto lanes, int64_t i) HWY_ATTR {
      FloatVector sum = lanes.load(sums + row * kColumns + i);
      if (from != nullptr) sum = hn::Add(lanes.load(from + i), sum);
      lanes.store(sum, to + i);
    });
  }
}

// Rows of a left factor as the blocks of output read it.
struct InPlace {
  const float* data;
  int64_t stride;
  [[nodiscard]] StridedLeft from(int64_t row) const { return {data + row * stride, stride, 1}; }
};
struct Packed {
  const float* data;
  int64_t terms;
  [[nodiscard]] PackedLeft<kRows> from(int64_t row) const { return {data + row * terms}; }
};

// The output of some rows and columns from one block of terms: the rows stay in the cache while the
// packed panels of columns pass by.
template <class Rows>
HWY_INLINE void multiply_panels(const Multiplication& product, Range rows, Range columns,
                                Range terms, const Rows& left, const float* right,
                                FactorAhead& ahead) {
  const bool first = terms.first == 0;
  for (int64_t column = 0; column < columns.count; column += kColumns) {
    const int64_t width = std::min(kColumns, columns.count - column);
    const int64_t vectors = (width + kLanes - 1) / kLanes;
    const int64_t at = columns.first + column;
    const float* panel = right + column * terms.count;
    for (int64_t row = 0; row < rows.count; row += kRows) {
      const int64_t height = std::min<int64_t>(kRows, rows.count - row);
      const auto from = left.from(row);
      const auto block = block_of<std::remove_const_t<decltype(from)>>(height, vectors);
      const BlockOutput to = {
          .data = product.out + (rows.first + row) * product.columns + at,
          .stride = product.columns,
          .accumulate = product.accumulate || !first,
          .bias = first && product.bias != nullptr ? product.bias + at : nullptr};
      if (width % kLanes == 0) {
        block(from, panel, kColumns, terms.count, to, ahead);
      } else {
        multiply_ragged(block, height, width, from, panel, terms.count, to, ahead);
      }
    }
  }
}

// One tile of the output. `packed_columns` is room for one block of terms of all columns; where
// rows are packed, a group of them follows.
void multiply_tile(const Multiplication& product, Range rows, Range columns,
                   float* packed_columns) {
  const Factor& left = product.left;
  for (int64_t term = 0; term < product.terms; term += kProductTerms) {
    const Range terms = {term, std::min(kProductTerms, product.terms - term)};
    pack<kColumns>(product.right, columns.first, columns.count, terms.first, terms.count,
                   packed_columns);
    const int64_t panels = (columns.count + kColumns - 1) / kColumns;
    float* packed_rows = packed_columns + panels * kColumns * terms.count;
    const int64_t next = term + terms.count;
    FactorAhead ahead(product.right, columns.first, columns.count, next,
                      std::min(kProductTerms, product.terms - next), rows.count * panels);
    for (int64_t row = 0; row < rows.count; row += kProductGroup) {
      const Range group = {rows.first + row, std::min(kProductGroup, rows.count - row)};
      if (left.by_term) {
        pack<kRows>(left, group.first, group.count, terms.first, terms.count, packed_rows);
        multiply_panels(product, group, columns, terms, Packed{packed_rows, terms.count},
                        packed_columns, ahead);
      } else {
        const InPlace from = {left.data + group.first * left.stride + terms.first, left.stride};
        multiply_panels(product, group, columns, terms, from, packed_columns, ahead);
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace trireme::ops::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trireme::ops::cpu {
namespace {

HWY_EXPORT(multiply_tile);

}  // namespace

int64_t workspace_bytes(const Multiplication& product, int threads) {
  return threads *
         program::product_workspace_bytes(product.columns, product.terms, product.left.by_term);
}

void multiply(ThreadPool& pool, const Multiplication& product, std::byte* workspace) {
  TRIREME_ASSERT(product.rows > 0 && product.columns > 0 && product.terms > 0, "an empty product");
  TRIREME_ASSERT(product.bias == nullptr || !product.accumulate, "a product has one start");
  if (rows_are_few(product)) {
    multiply_few_rows(pool, product);
    return;
  }
  const bool alone = product_is_small(product);
  const TileCut cut =
      cut_tiles(product.rows, product.columns, product.left.by_term, alone ? 1 : pool.threads());
  const int64_t across = (product.columns + cut.columns - 1) / cut.columns;
  const int64_t thread_bytes = workspace_bytes(product, 1);
  const auto tile = [&](int64_t index, int thread) {
    const int64_t row = index / across * cut.rows;
    const int64_t column = index % across * cut.columns;
    std::byte* room = workspace + thread * thread_bytes;
    HWY_DYNAMIC_DISPATCH(multiply_tile)
    (product, {row, std::min(cut.rows, product.rows - row)},
     {column, std::min(cut.columns, product.columns - column)}, reinterpret_cast<float*>(room));
  };
  const int64_t tiles = across * ((product.rows + cut.rows - 1) / cut.rows);
  if (alone) {
    for (int64_t index = 0; index < tiles; ++index) tile(index, 0);
  } else {
    pool.parallel_for(tiles, tile);
  }
}

}  // namespace trireme::ops::cpu
#endif
