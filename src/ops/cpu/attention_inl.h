// A head of causal self-attention cut into tiles of queries, and its three kinds of small product,
// once per kind of vector unit.
#if defined(TRIREME_OPS_CPU_ATTENTION_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TRIREME_OPS_CPU_ATTENTION_INL_H
#undef TRIREME_OPS_CPU_ATTENTION_INL_H
#else
#define TRIREME_OPS_CPU_ATTENTION_INL_H
#endif

#include <algorithm>

#include "core/random.h"
#include "ops/cpu/pack_inl.h"
#include "ops/cpu/panel_inl.h"
#include "program/op/attention.h"

HWY_BEFORE_NAMESPACE();
namespace trireme::ops::cpu {
namespace HWY_NAMESPACE {

using program::attention_keys;
using program::attention_width;
using program::AttentionSizes;
using program::kAttentionTile;

/// Where a task's head lies in qkv and in context, and the sizes of its copies.
struct Head {
  int64_t length, d, keys, width;
  int64_t qkv_offset, qkv_stride;
  int64_t context_offset, context_stride;
  int64_t random_block;  // of the head's first score
  int64_t row_blocks;    // of a row of scores

  Head(const AttentionSizes& op, int64_t sequence, int64_t head)
      : length(op.length),
        d(op.head_dim),
        keys(attention_keys(op.length)),
        width(attention_width(op.head_dim)),
        qkv_offset((sequence * op.heads + head) * 3 * op.head_dim),
        qkv_stride(op.sequences * op.heads * 3 * op.head_dim),
        context_offset((sequence * op.heads + head) * op.head_dim),
        context_stride(op.sequences * op.heads * op.head_dim),
        random_block((op.first_head + head) * op.length * (random_row(op.length) / 4)),
        row_blocks(random_row(op.length) / 4) {}
};

/// A tile of queries and the keys it may see.
struct Queries {
  int64_t first;      // query
  int64_t count;      // of queries
  int64_t first_key;  // of any of them, rounded down to a panel

  /// Every query sees all keys up to its own.
  Queries(const Head& head, int64_t first_query)
      : first(first_query),
        count(std::min(kAttentionTile, head.length - first_query)),
        first_key(0) {}
  Queries(const Head& head, const int32_t* segment_starts, int64_t stride, int64_t first_query)
      : Queries(head, first_query) {
    int64_t start = first;
    for (int64_t r = 0; r < count; ++r) {
      start = std::min<int64_t>(start, segment_starts[(first + r) * stride]);
    }
    first_key = start / kPanelColumns * kPanelColumns;
  }
  // End of the keys that the block of rows with row r may see.
  [[nodiscard]] int64_t last_key(int64_t r) const {
    return first + std::min(count, (r / kBlockRows + 1) * kBlockRows);
  }
};

/// scores [count, keys] = rows [count, width] times panels, for the keys that the tile sees.
HWY_INLINE void score_product(const Head& head, const Queries& queries, const float* rows,
                              const float* panels, float* scores) {
  for (int64_t key = queries.first_key; key < queries.first + queries.count; key += kPanelColumns) {
    for (int64_t r = 0; r < queries.count; r += kBlockRows) {
      const int64_t columns = std::min(kPanelColumns, queries.last_key(r) - key);
      if (columns <= 0) continue;
      multiply(std::min(kBlockRows, queries.count - r), columns, head.d,
               {rows + r * head.width, head.width, 1}, panels + key * head.d, kPanelColumns, false,
               scores + r * head.keys + key, head.keys);
    }
  }
}

/// out [count, width] = scores [count, keys] times by_key [keys, width].
HWY_INLINE void key_product(const Head& head, const Queries& queries, const float* scores,
                            int64_t scores_stride, const float* by_key, float* out) {
  for (int64_t column = 0; column < head.width; column += kPanelColumns) {
    for (int64_t r = 0; r < queries.count; r += kBlockRows) {
      multiply(std::min(kBlockRows, queries.count - r),
               std::min(kPanelColumns, head.width - column),
               queries.last_key(r) - queries.first_key,
               {scores + r * scores_stride + queries.first_key, scores_stride, 1},
               by_key + queries.first_key * head.width + column, head.width, false,
               out + r * head.width + column, head.width);
    }
  }
}

/// sums [keys, width] += the transpose of scores [count, keys] times rows [count, width], for keys
/// [begin, end) with begin at or after the first that the tile sees.
HWY_INLINE void query_product(const Head& head, const Queries& queries, int64_t begin, int64_t end,
                              const float* scores, int64_t scores_stride, const float* rows,
                              float* sums) {
  end = std::min(end, queries.first + queries.count);
  for (int64_t column = 0; column < head.width; column += kPanelColumns) {
    for (int64_t key = begin; key < end; key += kBlockRows) {
      const int64_t r =
          std::max<int64_t>(0, key - queries.first);  // earlier queries see none of them
      multiply(std::min(kBlockRows, end - key), std::min(kPanelColumns, head.width - column),
               queries.count - r, {scores + r * scores_stride + key, 1, scores_stride},
               rows + r * head.width + column, head.width, true, sums + key * head.width + column,
               head.width);
    }
  }
}

/// Keys [begin, end) of a row of scores, of which [first, last] count. The products may read a
/// block of kBlockRows keys past those of the row's own block.
struct RowRange {
  int64_t begin, end;
  int32_t first, last;

  RowRange(const Head& head, const Queries& queries, int64_t r, int32_t segment_start)
      : begin(queries.first_key),
        end(std::min(head.keys, (queries.last_key(r) + kBlockRows + 2 * kLanes - 1) / (2 * kLanes) *
                                    (2 * kLanes))),
        first(segment_start),
        last(static_cast<int32_t>(queries.first + r)) {}

  [[nodiscard]] HWY_INLINE auto counts(int64_t key) const {
    const auto index = hn::Add(lane_numbers(), hn::Set(kIntegers, static_cast<int32_t>(key)));
    const auto outside =
        hn::Or(hn::Lt(index, hn::Set(kIntegers, first)), hn::Gt(index, hn::Set(kIntegers, last)));
    return hn::RebindMask(kFloats, hn::Not(outside));
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace trireme::ops::cpu
HWY_AFTER_NAMESPACE();
#endif
