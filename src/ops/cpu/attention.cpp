#include <cmath>
#include <limits>

#include "ops/cpu/blocks.h"
#include "ops/cpu/cpu.h"
#include "ops/cpu/targets.h"
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/cpu/attention.cpp"
#include <hwy/foreach_target.h>
#include "ops/cpu/attention_inl.h"
#include "ops/cpu/dropout_inl.h"
// clang-format on

// One task is one head of one sequence. It copies the head's vectors out of [s, b, heads, 3, d]
// into its thread's workspace, k (and in backward v) transposed for the score products, and goes
// through the queries in tiles. A tile's products skip the keys that its mask would drop: block by
// block of rows above the diagonal, and all before the first segment.

HWY_BEFORE_NAMESPACE();
namespace trireme::ops::cpu {
namespace HWY_NAMESPACE {

struct SoftmaxRow {
  float maximum, sum;
};

// Scores become exp(score - maximum), zero outside; then what dropout drops becomes zero too. The
// sum is that before dropout.
template <bool Drops>
HWY_INLINE SoftmaxRow softmax_row(const RowRange& range, const Dropper& dropper, int64_t block,
                                  float* scores) {
  const FloatVector lowest = hn::Set(kFloats, -std::numeric_limits<float>::infinity());
  FloatVector largest = lowest;
  for (int64_t key = range.begin; key < range.end; key += kLanes) {
    const FloatVector score = hn::LoadU(kFloats, scores + key);
    largest = hn::Max(largest, hn::IfThenElse(range.counts(key), score, lowest));
  }
  const FloatVector maximum = hn::MaxOfLanes(kFloats, largest);
  FloatVector sum0 = hn::Zero(kFloats);
  FloatVector sum1 = hn::Zero(kFloats);
  for (int64_t key = range.begin; key < range.end; key += 2 * kLanes) {
    FloatVector w0 = exp(hn::Sub(hn::LoadU(kFloats, scores + key), maximum));
    FloatVector w1 = exp(hn::Sub(hn::LoadU(kFloats, scores + key + kLanes), maximum));
    w0 = hn::IfThenElseZero(range.counts(key), w0);
    w1 = hn::IfThenElseZero(range.counts(key + kLanes), w1);
    sum0 = hn::Add(sum0, w0);
    sum1 = hn::Add(sum1, w1);
    if constexpr (Drops) {
      WordVector bits0;
      WordVector bits1;
      dropper.draw(block + key / 4, bits0, bits1);
      w0 = dropper.keep(bits0, w0);
      w1 = dropper.keep(bits1, w1);
    }
    hn::StoreU(w0, kFloats, scores + key);
    hn::StoreU(w1, kFloats, scores + key + kLanes);
  }
  return {hn::GetLane(maximum), hn::GetLane(hn::SumOfLanes(kFloats, hn::Add(sum0, sum1)))};
}

template <bool Drops>
void forward_head(const program::Attention& op, const Arguments& arguments, int64_t sequence,
                  int64_t head_index, float* workspace) {
  const Head head(op, sequence, head_index);
  const auto* segment_starts = arguments.pointer<const int32_t>(op.kSegmentStarts) + sequence;
  const Dropper dropper(op.dropout, *arguments.pointer<const int32_t>(op.kSeed), arguments.layer,
                        arguments.pointer<const int64_t>(op.kSamples)[sequence]);
  const float* q = arguments.pointer<const float>(op.kQkv) + head.qkv_offset;
  float* context = arguments.pointer<float>(op.kContext) + head.context_offset;
  float* lse = arguments.pointer<float>(op.kLse) + (sequence * op.heads + head_index) * head.length;

  float* k_panels = workspace;
  float* v = k_panels + head.keys * head.width;
  float* q_tile = v + head.keys * head.width;
  float* context_tile = q_tile + kAttentionTile * head.width;
  float* scores = context_tile + kAttentionTile * head.width;

  const float scale = 1.0F / std::sqrt(static_cast<float>(head.d));
  pack<kPanelColumns>({q + head.d, head.qkv_stride}, 0, head.length, 0, head.d, k_panels);
  copy_rows(q + 2 * head.d, head.qkv_stride, head.length, head.d, 1.0F, v, head.width);
  for (int64_t first = 0; first < head.length; first += kAttentionTile) {
    const Queries queries(head, segment_starts, op.sequences, first);
    copy_rows(q + first * head.qkv_stride, head.qkv_stride, queries.count, head.d, scale, q_tile,
              head.width);
    score_product(head, queries, q_tile, k_panels, scores);
    float inverse_sums[kAttentionTile];
    for (int64_t r = 0; r < queries.count; ++r) {
      const int64_t query = first + r;
      const RowRange range(head, queries, r, segment_starts[query * op.sequences]);
      const SoftmaxRow row = softmax_row<Drops>(
          range, dropper, head.random_block + query * head.row_blocks, scores + r * head.keys);
      lse[query] = static_cast<float>(double{row.maximum} + std::log(double{row.sum}));
      inverse_sums[r] = dropper.scale() / row.sum;
    }
    key_product(head, queries, scores, head.keys, v, context_tile);
    for (int64_t r = 0; r < queries.count; ++r) {
      float* out = context + (first + r) * head.context_stride;
      const float* sums = context_tile + r * head.width;
      over_row(head.d, [&](auto lanes, int64_t i) HWY_ATTR {
        lanes.store(hn::Mul(lanes.load(sums + i), hn::Set(kFloats, inverse_sums[r])), out + i);
      });
    }
  }
}

// Of one row: scores become the probabilities behind dropout, dprobabilities (behind dropout)
// become the gradient of the scores: p (dp - row_sum), where row_sum = sum over keys of p dp =
// context dcontext.
template <bool Drops>
HWY_INLINE void softmax_backward_row(const RowRange& range, const Dropper& dropper, int64_t block,
                                     float lse, float row_sum, float* scores,
                                     float* dprobabilities) {
  const FloatVector lse_v = hn::Set(kFloats, lse);
  const FloatVector row_sum_v = hn::Set(kFloats, row_sum);
  for (int64_t key = range.begin; key < range.end; key += 2 * kLanes) {
    WordVector bits[2];
    if constexpr (Drops) dropper.draw(block + key / 4, bits[0], bits[1]);
    for (int64_t half = 0; half < 2; ++half) {
      const int64_t at = key + half * kLanes;
      const auto counts = range.counts(at);
      const FloatVector score = hn::LoadU(kFloats, scores + at);
      const FloatVector p = hn::IfThenElseZero(counts, exp(hn::Sub(score, lse_v)));
      FloatVector dp = hn::LoadU(kFloats, dprobabilities + at);
      FloatVector kept = p;
      if constexpr (Drops) {
        dp = dropper.keep_scaled(bits[half], dp);
        kept = dropper.keep_scaled(bits[half], p);
      }
      // dp is not computed where no key counts, so p = 0 there is not enough.
      const FloatVector ds = hn::IfThenElseZero(counts, hn::Mul(p, hn::Sub(dp, row_sum_v)));
      hn::StoreU(kept, kFloats, scores + at);
      hn::StoreU(ds, kFloats, dprobabilities + at);
    }
  }
}

template <bool Drops>
void backward_head(const program::AttentionBackward& op, const Arguments& arguments,
                   int64_t sequence, int64_t head_index, float* workspace) {
  const Head head(op, sequence, head_index);
  const auto* segment_starts = arguments.pointer<const int32_t>(op.kSegmentStarts) + sequence;
  const Dropper dropper(op.dropout, *arguments.pointer<const int32_t>(op.kSeed), arguments.layer,
                        arguments.pointer<const int64_t>(op.kSamples)[sequence]);
  const float* q = arguments.pointer<const float>(op.kQkv) + head.qkv_offset;
  const float* context = arguments.pointer<const float>(op.kContext) + head.context_offset;
  const float* dcontext = arguments.pointer<const float>(op.kDcontext) + head.context_offset;
  const float* lse =
      arguments.pointer<const float>(op.kLse) + (sequence * op.heads + head_index) * head.length;
  float* dq = arguments.pointer<float>(op.kDqkv) + head.qkv_offset;

  float* k_panels = workspace;
  float* v_panels = k_panels + head.keys * head.width;
  float* k = v_panels + head.keys * head.width;
  float* dk = k + head.keys * head.width;
  float* dv = dk + head.keys * head.width;
  float* q_tile = dv + head.keys * head.width;
  float* dcontext_tile = q_tile + kAttentionTile * head.width;
  float* dq_tile = dcontext_tile + kAttentionTile * head.width;
  float* scores = dq_tile + kAttentionTile * head.width;
  float* dscores = scores + kAttentionTile * head.keys;

  const float scale = 1.0F / std::sqrt(static_cast<float>(head.d));
  pack<kPanelColumns>({q + head.d, head.qkv_stride}, 0, head.length, 0, head.d, k_panels);
  pack<kPanelColumns>({q + 2 * head.d, head.qkv_stride}, 0, head.length, 0, head.d, v_panels);
  copy_rows(q + head.d, head.qkv_stride, head.length, head.d, 1.0F, k, head.width);
  std::memset(dk, 0, static_cast<size_t>(2 * head.keys * head.width) * sizeof(float));
  for (int64_t first = 0; first < head.length; first += kAttentionTile) {
    const Queries queries(head, segment_starts, op.sequences, first);
    copy_rows(q + first * head.qkv_stride, head.qkv_stride, queries.count, head.d, scale, q_tile,
              head.width);
    copy_rows(dcontext + first * head.context_stride, head.context_stride, queries.count, head.d,
              1.0F, dcontext_tile, head.width);
    score_product(head, queries, q_tile, k_panels, scores);
    score_product(head, queries, dcontext_tile, v_panels, dscores);
    for (int64_t r = 0; r < queries.count; ++r) {
      const int64_t query = first + r;
      const RowRange range(head, queries, r, segment_starts[query * op.sequences]);
      const float* out = context + query * head.context_stride;
      const float* dout = dcontext_tile + r * head.width;
      const float row_sum = sum_row(head.d, [&](auto lanes, int64_t i) HWY_ATTR {
        return hn::Mul(lanes.load(out + i), lanes.load(dout + i));
      });
      softmax_backward_row<Drops>(range, dropper, head.random_block + query * head.row_blocks,
                                  lse[query], row_sum, scores + r * head.keys,
                                  dscores + r * head.keys);
    }
    key_product(head, queries, dscores, head.keys, k, dq_tile);
    query_product(head, queries, queries.first_key, head.length, dscores, head.keys, q_tile,
                  dk);  // q_tile carries the scale
    query_product(head, queries, queries.first_key, head.length, scores, head.keys, dcontext_tile,
                  dv);
    for (int64_t r = 0; r < queries.count; ++r) {
      float* to = dq + (first + r) * head.qkv_stride;
      const float* from = dq_tile + r * head.width;
      over_row(head.d, [&](auto lanes, int64_t i) HWY_ATTR {
        lanes.store(hn::Mul(lanes.load(from + i), hn::Set(kFloats, scale)), to + i);
      });
    }
  }
  for (int64_t key = 0; key < head.length; ++key) {
    float* to = dq + key * head.qkv_stride + head.d;
    std::memcpy(to, dk + key * head.width, static_cast<size_t>(head.d) * sizeof(float));
    std::memcpy(to + head.d, dv + key * head.width, static_cast<size_t>(head.d) * sizeof(float));
  }
}

void attention_head(const program::Attention& op, const Arguments& arguments, int64_t sequence,
                    int64_t head, float* workspace) {
  if (op.dropout.probability == 0) {
    forward_head<false>(op, arguments, sequence, head, workspace);
  } else {
    forward_head<true>(op, arguments, sequence, head, workspace);
  }
}

void attention_backward_head(const program::AttentionBackward& op, const Arguments& arguments,
                             int64_t sequence, int64_t head, float* workspace) {
  if (op.dropout.probability == 0) {
    backward_head<false>(op, arguments, sequence, head, workspace);
  } else {
    backward_head<true>(op, arguments, sequence, head, workspace);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace trireme::ops::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trireme::ops::cpu {
namespace {

HWY_EXPORT(attention_head);
HWY_EXPORT(attention_backward_head);

// The workspace of one thread, as workspace_bytes() counts it.
template <class Op>
float* thread_workspace(const Op& op, const Arguments& arguments, int thread) {
  return reinterpret_cast<float*>(arguments.workspace +
                                  thread * op.workspace_bytes({.threads = 1}));
}

void attention(device::Stream& stream, const program::Attention& op, const Arguments& arguments) {
  pool_of(stream).parallel_for(op.sequences * op.heads, [&](int64_t index, int thread) {
    HWY_DYNAMIC_DISPATCH(attention_head)
    (op, arguments, index / op.heads, index % op.heads, thread_workspace(op, arguments, thread));
  });
}

void attention_backward(device::Stream& stream, const program::AttentionBackward& op,
                        const Arguments& arguments) {
  pool_of(stream).parallel_for(op.sequences * op.heads, [&](int64_t index, int thread) {
    HWY_DYNAMIC_DISPATCH(attention_backward_head)
    (op, arguments, index / op.heads, index % op.heads, thread_workspace(op, arguments, thread));
  });
}

}  // namespace

void add_attention(KernelTable& table) {
  entry<program::Attention, attention>(table);
  entry<program::AttentionBackward, attention_backward>(table);
}

}  // namespace trireme::ops::cpu
#endif
