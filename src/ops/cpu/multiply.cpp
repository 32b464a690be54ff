#include "ops/cpu/multiply.h"

#include <algorithm>
#include <type_traits>

#include "core/error.h"
#include "ops/cpu/strips.h"
#include "ops/cpu/targets.h"
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

// Calls body(block) for the blocks of terms in a range that starts at one.
template <class Body>
void over_blocks_of_terms(Range terms, const Body& body) {
  for (int64_t first = 0; first < terms.count; first += kProductTerms) {
    body(Range{terms.first + first, std::min(kProductTerms, terms.count - first)});
  }
}

// Some columns and terms of a right factor, packed for all threads: block by block of terms, then
// panel by panel.
struct SharedPiece {
  Range columns;
  Range terms;
  float* packed;
  int64_t room;  // columns that `packed` has memory for

  [[nodiscard]] float* block(Range block) const {
    return packed + (block.first - terms.first) * room;
  }
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
static_assert(kProductPanel % kRows == 0 && kProductPanel % kColumns == 0);

template <class Left>
using Block = void (*)(Left, const float*, int64_t, int64_t, BlockOutput);

template <class Left, int Rows>
HWY_INLINE Block<Left> block_of_rows(int64_t vectors) {
  constexpr Block<Left> kBlocks[kVectors] = {
      multiply_block<Rows, 1, Left>, multiply_block<Rows, 2, Left>, multiply_block<Rows, 3, Left>};
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
                                  const float* right, int64_t terms, const BlockOutput& out) {
  HWY_ALIGN float sums[kRows * kColumns];
  block(left, right, kColumns, terms, {.data = sums, .stride = kColumns});
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

// Rows of a left factor as the blocks of output read it, in place or packed. A group of rows stays
// in the cache while the panels of the right factor pass by; what is packed stays there anyway.
struct InPlace {
  const float* data;
  int64_t stride;
  static constexpr int64_t kGroup = 96;
  [[nodiscard]] StridedLeft from(int64_t row) const { return {data + row * stride, stride, 1}; }
};
struct Packed {
  const float* data;
  int64_t terms;
  static constexpr int64_t kGroup = kProductStrip;
  [[nodiscard]] PackedLeft<kRows> from(int64_t row) const { return {data + row * terms}; }
};

// The output of some rows and columns from one block of terms of packed columns.
template <class Rows>
HWY_INLINE void multiply_panels(const Multiplication& product, Range rows, Range columns,
                                Range terms, const Rows& left, const float* right) {
  const bool first = terms.first == 0;
  const auto multiply_rows_of_panel = [&](Range group, int64_t column) HWY_ATTR {
    const int64_t width = std::min(kColumns, columns.count - column);
    const int64_t vectors = (width + kLanes - 1) / kLanes;
    const int64_t at = columns.first + column;
    for (int64_t row = group.first; row < group.first + group.count; row += kRows) {
      const int64_t height = std::min<int64_t>(kRows, group.first + group.count - row);
      const auto from = left.from(row);
      const auto block = block_of<std::remove_const_t<decltype(from)>>(height, vectors);
      const BlockOutput to = {
          .data = product.out + (rows.first + row) * product.columns + at,
          .stride = product.columns,
          .accumulate = product.accumulate || !first,
          .bias = first && product.bias != nullptr ? product.bias + at : nullptr};
      if (width % kLanes == 0) {
        block(from, right + column * terms.count, kColumns, terms.count, to);
      } else {
        multiply_ragged(block, height, width, from, right + column * terms.count, terms.count, to);
      }
    }
  };
  for (int64_t row = 0; row < rows.count; row += Rows::kGroup) {
    const Range group = {row, std::min(Rows::kGroup, rows.count - row)};
    for (int64_t column = 0; column < columns.count; column += kColumns) {
      multiply_rows_of_panel(group, column);
    }
  }
}

// Of a left factor that is read in place; `strip` is room for one block of terms of the columns.
void multiply_columns(const Multiplication& product, Range rows, Range columns, float* strip) {
  over_blocks_of_terms({0, product.terms}, [&](Range terms) HWY_ATTR {
    pack<kColumns>(product.right, columns.first, columns.count, terms.first, terms.count, strip);
    const Factor& left = product.left;
    const InPlace from = {left.data + rows.first * left.stride + terms.first, left.stride};
    multiply_panels(product, rows, columns, terms, from, strip);
  });
}

// Packs some columns, counted from the piece's first.
void pack_shared(const Multiplication& product, const SharedPiece& piece, Range columns) {
  over_blocks_of_terms(piece.terms, [&](Range terms) HWY_ATTR {
    pack<kColumns>(product.right, piece.columns.first + columns.first, columns.count, terms.first,
                   terms.count, piece.block(terms) + columns.first * terms.count);
  });
}

// Some rows times a shared piece; `strip` is room for one block of terms of the rows.
void multiply_rows(const Multiplication& product, const SharedPiece& piece, Range rows,
                   float* strip) {
  over_blocks_of_terms(piece.terms, [&](Range terms) HWY_ATTR {
    pack<kRows>(product.left, rows.first, rows.count, terms.first, terms.count, strip);
    multiply_panels(product, rows, piece.columns, terms, Packed{strip, terms.count},
                    piece.block(terms));
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace trireme::ops::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trireme::ops::cpu {
namespace {

HWY_EXPORT(multiply_columns);
HWY_EXPORT(pack_shared);
HWY_EXPORT(multiply_rows);

// Below so many multiply-adds, waking other threads takes longer than they would save.
constexpr int64_t kSmallProduct = 1 << 18;

struct Tasks {
  ThreadPool& pool;
  bool alone;
  std::byte* strips;
  int64_t strip_bytes;

  [[nodiscard]] float* strip(int thread) const {
    return reinterpret_cast<float*>(strips + thread * strip_bytes);
  }
  // work(range, thread) for the ranges of [0, count), each of `step` but the last.
  template <class Work>
  void over(int64_t count, int64_t step, const Work& work) const {
    const int64_t tasks = (count + step - 1) / step;
    const auto task = [&](int64_t index, int thread) {
      work(Range{index * step, std::min(step, count - index * step)}, thread);
    };
    if (alone) {
      for (int64_t index = 0; index < tasks; ++index) task(index, 0);
    } else {
      pool.parallel_for(tasks, task);
    }
  }
};

int64_t strip_bytes(const Multiplication& product) {
  return program::product_strip_bytes(product.left.by_term ? product.rows : product.columns,
                                      product.terms);
}

void multiply_in_place(const Tasks& tasks, const Multiplication& product) {
  const StripCut cut = cut_strips(product.columns, product.rows, tasks.pool.threads());
  const int64_t across = (product.columns + cut.strip - 1) / cut.strip;
  const int64_t down = (product.rows + cut.part - 1) / cut.part;
  tasks.over(across * down, 1, [&](Range task, int thread) {
    const int64_t row = task.first / across * cut.part;
    const int64_t column = task.first % across * cut.strip;
    HWY_DYNAMIC_DISPATCH(multiply_columns)
    (product, {row, std::min(cut.part, product.rows - row)},
     {column, std::min(cut.strip, product.columns - column)}, tasks.strip(thread));
  });
}

void multiply_packed(const Tasks& tasks, const Multiplication& product) {
  const program::ProductPiece cut(product.columns, product.terms);
  const int64_t strip = cut_strips(product.rows, 0, tasks.pool.threads()).strip;
  for (int64_t column = 0; column < product.columns; column += cut.columns) {
    for (int64_t term = 0; term < product.terms; term += cut.terms) {
      const SharedPiece piece = {
          .columns = {column, std::min(cut.columns, product.columns - column)},
          .terms = {term, std::min(cut.terms, product.terms - term)},
          .packed = tasks.strip(tasks.pool.threads()),  // behind the last thread's
          .room = cut.columns};
      tasks.over(piece.columns.count, kProductPanel, [&](Range columns, int) {
        HWY_DYNAMIC_DISPATCH(pack_shared)(product, piece, columns);
      });
      tasks.over(product.rows, strip, [&](Range rows, int thread) {
        HWY_DYNAMIC_DISPATCH(multiply_rows)
        (product, piece, rows, tasks.strip(thread));
      });
    }
  }
}

}  // namespace

int64_t workspace_bytes(const Multiplication& product, int threads) {
  const int64_t strips = threads * strip_bytes(product);
  if (!product.left.by_term) return strips;
  return strips + program::ProductPiece(product.columns, product.terms).bytes();
}

void multiply(ThreadPool& pool, const Multiplication& product, std::byte* workspace) {
  TRIREME_ASSERT(product.bias == nullptr || !product.accumulate, "a product has one start");
  const Tasks tasks = {.pool = pool,
                       .alone = product.rows * product.columns * product.terms <= kSmallProduct,
                       .strips = workspace,
                       .strip_bytes = strip_bytes(product)};
  if (product.left.by_term) {
    multiply_packed(tasks, product);
  } else {
    multiply_in_place(tasks, product);
  }
}

}  // namespace trireme::ops::cpu
#endif
