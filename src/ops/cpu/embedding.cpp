#include <cstring>

#include "ops/cpu/blocks.h"
#include "ops/cpu/cpu.h"
#include "ops/cpu/targets.h"
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/cpu/embedding.cpp"
#include <hwy/foreach_target.h>
#include "ops/cpu/dropout_inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace trireme::ops::cpu {
namespace HWY_NAMESPACE {

void add_row(const float* from, float* to, int64_t n) {
  over_row(n, [&](auto lanes, int64_t i) HWY_ATTR {
    lanes.store(hn::Add(lanes.load(to + i), lanes.load(from + i)), to + i);
  });
}

void position_dropout_rows(const program::PositionDropout& op, const Arguments& arguments,
                           int64_t first, int64_t last) {
  const int64_t n = op.hidden;
  const auto* positions = arguments.pointer<const int32_t>(op.kPositions);
  for (int64_t row = first; row < last; ++row) {
    const float* x = arguments.pointer<const float>(op.kX) + row * n;
    const float* learned = arguments.pointer<const float>(op.kTable) + positions[row] * n;
    float* y = arguments.pointer<float>(op.kY) + row * n;
    if (op.dropout.probability == 0) {
      over_row(n, [&](auto lanes, int64_t i) HWY_ATTR {
        lanes.store(hn::Add(lanes.load(x + i), lanes.load(learned + i)), y + i);
      });
      continue;
    }
    const Dropper dropper = row_dropper(op, arguments, row);
    over_row_with_bits(
        n, dropper, random_block(op, row), [&](auto lanes, int64_t i, WordVector bits) HWY_ATTR {
          const FloatVector sum = hn::Add(lanes.load(x + i), lanes.load(learned + i));
          lanes.store(dropper.keep_scaled(bits, sum), y + i);
        });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace trireme::ops::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trireme::ops::cpu {
namespace {

HWY_EXPORT(add_row);
HWY_EXPORT(position_dropout_rows);

// Columns of a table that one task of a scatter-add covers: a cache line or more of each row.
constexpr int64_t kScatterColumns = 64;

void embedding_lookup(device::Stream& stream, const program::EmbeddingLookup& op,
                      const Arguments& arguments) {
  const auto* tokens = arguments.pointer<const int32_t>(op.kTokens);
  const auto* table = arguments.pointer<const float>(op.kTable);
  auto* y = arguments.pointer<float>(op.kY);
  const size_t bytes = static_cast<size_t>(op.hidden) * sizeof(float);
  over_blocks(stream, op.tokens, rows_per_block(op.hidden), [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      const int64_t row = tokens[i] - op.first_row;
      if (row >= 0 && row < op.rows) {
        std::memcpy(y + i * op.hidden, table + row * op.hidden, bytes);
      } else {
        std::memset(y + i * op.hidden, 0, bytes);
      }
    }
  });
}

// table[ids[i] - first_row] (+)= dy[i]. Tasks own columns, so each row's sum runs in ascending
// order of i.
void scatter_add(device::Stream& stream, const int32_t* ids, int64_t tokens, const float* dy,
                 int64_t hidden, float* table, int64_t rows, int64_t first_row, bool accumulate) {
  if (!accumulate) {
    over_blocks(stream, rows * hidden, 4 * kBlockElements, [&](int64_t first, int64_t last) {
      std::memset(table + first, 0, static_cast<size_t>(last - first) * sizeof(float));
    });
  }
  over_blocks(stream, hidden, kScatterColumns, [&](int64_t first, int64_t last) {
    for (int64_t i = 0; i < tokens; ++i) {
      const int64_t row = ids[i] - first_row;
      if (row < 0 || row >= rows) continue;
      HWY_DYNAMIC_DISPATCH(add_row)
      (dy + i * hidden + first, table + row * hidden + first, last - first);
    }
  });
}

void embedding_gradient(device::Stream& stream, const program::EmbeddingGradient& op,
                        const Arguments& arguments) {
  scatter_add(stream, arguments.pointer<const int32_t>(op.kTokens), op.tokens,
              arguments.pointer<const float>(op.kDy), op.hidden,
              arguments.pointer<float>(op.kDtable), op.rows, op.first_row, arguments.accumulate);
}

void position_dropout(device::Stream& stream, const program::PositionDropout& op,
                      const Arguments& arguments) {
  over_blocks(stream, op.length * op.sequences, rows_per_block(op.hidden),
              [&](int64_t first, int64_t last) {
                HWY_DYNAMIC_DISPATCH(position_dropout_rows)(op, arguments, first, last);
              });
}

void position_gradient(device::Stream& stream, const program::PositionGradient& op,
                       const Arguments& arguments) {
  scatter_add(stream, arguments.pointer<const int32_t>(op.kPositions), op.tokens,
              arguments.pointer<const float>(op.kDx), op.hidden,
              arguments.pointer<float>(op.kDtable), op.rows, 0, arguments.accumulate);
}

}  // namespace

void add_embedding(KernelTable& table) {
  entry<program::EmbeddingLookup, embedding_lookup>(table);
  entry<program::EmbeddingGradient, embedding_gradient>(table);
  entry<program::PositionDropout, position_dropout>(table);
  entry<program::PositionGradient, position_gradient>(table);
}

}  // namespace trireme::ops::cpu
#endif
