#include "ops/cpu/multiply.h"

#include <algorithm>

#include "core/error.h"
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

// Lines [first, first + count) of something.
struct Range {
  int64_t first, count;
};

// One piece of a product: some lines of the shared factor and some terms, against all lines of the
// other factor.
struct Piece {
  const Multiplication& product;
  bool left_is_shared;
  Range lines;    // of the shared factor
  Range terms;    // whole blocks but for the last
  float* packed;  // the piece of the shared factor: by block of terms, then by panel
  int64_t room;   // lines that a block of `packed` has memory for

  [[nodiscard]] Range block(int64_t index) const {
    const int64_t first = index * kProductTerms;
    return {terms.first + first, std::min(kProductTerms, terms.count - first)};
  }
  [[nodiscard]] int64_t blocks() const { return (terms.count + kProductTerms - 1) / kProductTerms; }
  [[nodiscard]] float* packed_block(int64_t index) const {
    return packed + index * kProductTerms * room;
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
static_assert(kProductLines % kRows == 0 && kProductLines % kColumns == 0);

using Left = PackedLeft<kRows>;
using Block = void (*)(Left, const float*, int64_t, int64_t, BlockOutput);

template <int Rows>
constexpr Block block_of(int64_t vectors) {
  constexpr Block kBlocks[kVectors] = {multiply_block<Rows, 1, Left>, multiply_block<Rows, 2, Left>,
                                       multiply_block<Rows, 3, Left>};
  return kBlocks[vectors - 1];
}

HWY_INLINE Block block_of(int64_t rows, int64_t vectors) {
  switch (rows) {
    case 1:
      return block_of<1>(vectors);
    case 2:
      return block_of<2>(vectors);
    case 3:
      return block_of<3>(vectors);
#if HWY_TARGET != HWY_SSE4 && HWY_TARGET != HWY_AVX2
    case 4:
      return block_of<4>(vectors);
    case 5:
      return block_of<5>(vectors);
    case 6:
      return block_of<6>(vectors);
    case 7:
      return block_of<7>(vectors);
#endif
    default:
      return block_of<kRows>(vectors);
  }
}

// A block whose last vector is not whole: by way of memory that may be written to its end.
HWY_NOINLINE void multiply_ragged(Block block, int64_t rows, int64_t columns, Left left,
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

// out [rows, columns] from packed panels. A panel of the right factor stays in the cache while all
// of the left one pass by.
HWY_INLINE void multiply_panels(int64_t rows, int64_t columns, int64_t terms, const float* left,
                                const float* right, const BlockOutput& out) {
  for (int64_t column = 0; column < columns; column += kColumns) {
    const int64_t width = std::min(kColumns, columns - column);
    const int64_t vectors = (width + kLanes - 1) / kLanes;
    for (int64_t row = 0; row < rows; row += kRows) {
      const int64_t height = std::min<int64_t>(kRows, rows - row);
      const Block block = block_of(height, vectors);
      const Left left_panel = {left + row * terms};
      const float* right_panel = right + column * terms;
      const BlockOutput at = {.data = out.data + row * out.stride + column,
                              .stride = out.stride,
                              .accumulate = out.accumulate,
                              .bias = out.bias == nullptr ? nullptr : out.bias + column};
      if (width % kLanes == 0) {
        block(left_panel, right_panel, kColumns, terms, at);
      } else {
        multiply_ragged(block, height, width, left_panel, right_panel, terms, at);
      }
    }
  }
}

// Packs some lines, counted from the piece's first, of one block of the shared factor.
void pack_shared(const Piece& piece, int64_t block, Range lines) {
  const Range terms = piece.block(block);
  float* to = piece.packed_block(block) + lines.first * terms.count;
  const int64_t first = piece.lines.first + lines.first;
  if (piece.left_is_shared) {
    pack<kRows>(piece.product.left, first, lines.count, terms.first, terms.count, to);
  } else {
    pack<kColumns>(piece.product.right, first, lines.count, terms.first, terms.count, to);
  }
}

// The output of some lines of the factor that is not shared; `strip` is room for one block of them.
void multiply_strip(const Piece& piece, Range lines, float* strip) {
  const Multiplication& product = piece.product;
  const Range rows = piece.left_is_shared ? piece.lines : lines;
  const Range columns = piece.left_is_shared ? lines : piece.lines;
  for (int64_t block = 0; block < piece.blocks(); ++block) {
    const Range terms = piece.block(block);
    const float* left = piece.packed_block(block);
    const float* right = strip;
    if (piece.left_is_shared) {
      pack<kColumns>(product.right, lines.first, lines.count, terms.first, terms.count, strip);
    } else {
      pack<kRows>(product.left, lines.first, lines.count, terms.first, terms.count, strip);
      std::swap(left, right);
    }
    const bool start = terms.first == 0;
    multiply_panels(
        rows.count, columns.count, terms.count, left, right,
        {.data = product.out + rows.first * product.columns + columns.first,
         .stride = product.columns,
         .accumulate = product.accumulate || !start,
         .bias = start && product.bias != nullptr ? product.bias + columns.first : nullptr});
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace trireme::ops::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trireme::ops::cpu {
namespace {

HWY_EXPORT(pack_shared);
HWY_EXPORT(multiply_strip);

// Lines of a strip: a panel of columns, or a few of rows, so that a shared panel of columns is used
// several times before the next one is fetched.
constexpr int64_t kStripColumns = kProductLines;
constexpr int64_t kStripRows = 32;
static_assert(kStripRows <= kProductLines);

// Below so many multiply-adds, waking other threads takes longer than they would save.
constexpr int64_t kSmallProduct = 1 << 18;
// What a thread packs at a time when all pack together; less is packed by the caller alone.
constexpr int64_t kPackedLines = 2 * kProductLines;

// Calls work(lines, thread) for [0, count) in ranges of `step` lines, on one thread where it is not
// worth more.
template <class Work>
void over_lines(ThreadPool& pool, bool alone, int64_t count, int64_t step, const Work& work) {
  if (alone) {
    for (int64_t first = 0; first < count; first += step) {
      work(Range{first, std::min(step, count - first)}, 0);
    }
    return;
  }
  pool.parallel_for((count + step - 1) / step, [&](int64_t index, int thread) {
    work(Range{index * step, std::min(step, count - index * step)}, thread);
  });
}

}  // namespace

void multiply(ThreadPool& pool, const Multiplication& product, std::byte* workspace) {
  TRIREME_ASSERT(product.bias == nullptr || !product.accumulate, "one start for a product");
  const program::ProductPieces pieces(product.rows, product.columns, product.terms);
  auto* strips = reinterpret_cast<float*>(workspace);
  float* packed = strips + pool.threads() * kProductLines * kProductTerms;
  const int64_t shared = pieces.left_is_shared ? product.rows : product.columns;
  const int64_t others = pieces.left_is_shared ? product.columns : product.rows;
  const int64_t step = pieces.left_is_shared ? kStripColumns : kStripRows;
  for (int64_t first_line = 0; first_line < shared; first_line += pieces.lines) {
    for (int64_t first_term = 0; first_term < product.terms; first_term += pieces.terms) {
      const Piece piece = {
          .product = product,
          .left_is_shared = pieces.left_is_shared,
          .lines = {first_line, std::min(pieces.lines, shared - first_line)},
          .terms = {first_term, std::min(pieces.terms, product.terms - first_term)},
          .packed = packed,
          .room = pieces.lines};
      const bool alone = piece.lines.count * piece.terms.count * others <= kSmallProduct;
      over_lines(pool, alone, piece.lines.count, kPackedLines, [&](Range lines, int) {
        for (int64_t block = 0; block < piece.blocks(); ++block) {
          HWY_DYNAMIC_DISPATCH(pack_shared)(piece, block, lines);
        }
      });
      over_lines(pool, alone, others, step, [&](Range lines, int thread) {
        HWY_DYNAMIC_DISPATCH(multiply_strip)
        (piece, lines, strips + thread * kProductLines * kProductTerms);
      });
    }
  }
}

}  // namespace trireme::ops::cpu
#endif
