#include <cmath>
#include <limits>

#include "ops/cpu/blocks.h"
#include "ops/cpu/cpu.h"
#include "ops/cpu/head_tasks.h"
#include "ops/cpu/targets.h"
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/cpu/attention.cpp"
#include <hwy/foreach_target.h>
#include "ops/cpu/attention_inl.h"
#include "ops/cpu/dropout_inl.h"
// clang-format on

// A task is a head of one sequence, or a chunk of its queries. It copies the head's vectors out of
// [s, b, heads, 3, d] into its thread's workspace, k transposed for the score products, and goes
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
void forward_task(const program::Attention& op, const Arguments& arguments,
                  const HeadTasks::Task& task, float* workspace) {
  const int64_t sequence = task.sequence;
  const int64_t head_index = task.head;
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
  pack<kPanelColumns>({q + head.d, head.qkv_stride}, 0, task.end, 0, head.d, k_panels);
  copy_rows(q + 2 * head.d, head.qkv_stride, task.end, head.d, 1.0F, v, head.width);
  for (int64_t first = task.begin; first < task.end; first += kAttentionTile) {
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

void attention_task(const program::Attention& op, const Arguments& arguments,
                    const HeadTasks::Task& task, float* workspace) {
  if (op.dropout.probability == 0) {
    forward_task<false>(op, arguments, task, workspace);
  } else {
    forward_task<true>(op, arguments, task, workspace);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace trireme::ops::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trireme::ops::cpu {
namespace {

HWY_EXPORT(attention_task);

void attention(device::Stream& stream, const program::Attention& op, const Arguments& arguments) {
  ThreadPool& pool = pool_of(stream);
  const HeadTasks tasks(op, pool.threads());
  const int64_t bytes = op.workspace_bytes({.threads = 1});
  pool.parallel_for(tasks.count(), [&](int64_t index, int thread) {
    HWY_DYNAMIC_DISPATCH(attention_task)
    (op, arguments, tasks[index], reinterpret_cast<float*>(arguments.workspace + thread * bytes));
  });
}

}  // namespace

void add_attention(KernelTable& table) {
  entry<program::Attention, attention>(table);
}

}  // namespace trireme::ops::cpu
#endif
