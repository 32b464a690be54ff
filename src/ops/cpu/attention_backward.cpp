#include <cmath>

#include "ops/cpu/blocks.h"
#include "ops/cpu/cpu.h"
#include "ops/cpu/head_tasks.h"
#include "ops/cpu/targets.h"
#include "ops/cpu/turns.h"
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/cpu/attention_backward.cpp"
#include <hwy/foreach_target.h>
#include "ops/cpu/attention_inl.h"
#include "ops/cpu/dropout_inl.h"
// clang-format on

// As forward, a task is a head of one sequence or a chunk of its queries. What a query gives to dk
// and dv of its keys is added up within each chunk first; then the chunks are added in ascending
// order, however the head is cut.

HWY_BEFORE_NAMESPACE();
namespace trireme::ops::cpu {
namespace HWY_NAMESPACE {

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

// What a task of the backward works with: the head's operands, and its copies in the workspace.
struct BackwardHead : Head {
  const int32_t* segment_starts;
  int64_t segment_stride;
  const float* q;  // k and v behind it
  const float* context;
  const float* dcontext;
  const float* lse;
  float* dq;  // dk and dv behind it

  float* k_panels;
  float* v_panels;
  float* k;
  float* dk_sums;  // of a chunk of queries
  float* dv_sums;
  float* q_tile;
  float* dcontext_tile;
  float* dq_tile;
  float* scores;
  float* dscores;

  BackwardHead(const program::AttentionBackward& op, const Arguments& arguments,
               const HeadTasks::Task& task, float* workspace)
      : Head(op, task.sequence, task.head),
        segment_starts(arguments.pointer<const int32_t>(op.kSegmentStarts) + task.sequence),
        segment_stride(op.sequences),
        q(arguments.pointer<const float>(op.kQkv) + qkv_offset),
        context(arguments.pointer<const float>(op.kContext) + context_offset),
        dcontext(arguments.pointer<const float>(op.kDcontext) + context_offset),
        lse(arguments.pointer<const float>(op.kLse) +
            (task.sequence * op.heads + task.head) * length),
        dq(arguments.pointer<float>(op.kDqkv) + qkv_offset),
        k_panels(workspace),
        v_panels(k_panels + keys * width),
        k(v_panels + keys * width),
        dk_sums(k + keys * width),
        dv_sums(dk_sums + keys * width),
        q_tile(dv_sums + keys * width),
        dcontext_tile(q_tile + kAttentionTile * width),
        dq_tile(dcontext_tile + kAttentionTile * width),
        scores(dq_tile + kAttentionTile * width),
        dscores(scores + kAttentionTile * keys) {}
};

// dq of a tile of queries; adds what they give to dk and dv of the keys that they see.
template <bool Drops>
void backward_tile(const BackwardHead& head, const Queries& queries, const Dropper& dropper) {
  const int64_t first = queries.first;
  const float scale = 1.0F / std::sqrt(static_cast<float>(head.d));
  copy_rows(head.q + first * head.qkv_stride, head.qkv_stride, queries.count, head.d, scale,
            head.q_tile, head.width);
  copy_rows(head.dcontext + first * head.context_stride, head.context_stride, queries.count, head.d,
            1.0F, head.dcontext_tile, head.width);
  score_product(head, queries, head.q_tile, head.k_panels, head.scores);
  score_product(head, queries, head.dcontext_tile, head.v_panels, head.dscores);
  for (int64_t r = 0; r < queries.count; ++r) {
    const int64_t query = first + r;
    const RowRange range(head, queries, r, head.segment_starts[query * head.segment_stride]);
    const float* out = head.context + query * head.context_stride;
    const float* dout = head.dcontext_tile + r * head.width;
    const float row_sum = sum_row(head.d, [&](auto lanes, int64_t i) HWY_ATTR {
      return hn::Mul(lanes.load(out + i), lanes.load(dout + i));
    });
    softmax_backward_row<Drops>(range, dropper, head.random_block + query * head.row_blocks,
                                head.lse[query], row_sum, head.scores + r * head.keys,
                                head.dscores + r * head.keys);
  }
  key_product(head, queries, head.dscores, head.keys, head.k, head.dq_tile);
  query_product(head, queries, queries.first_key, head.length, head.dscores, head.keys, head.q_tile,
                head.dk_sums);  // q_tile carries the scale
  query_product(head, queries, queries.first_key, head.length, head.scores, head.keys,
                head.dcontext_tile, head.dv_sums);
  for (int64_t r = 0; r < queries.count; ++r) {
    float* to = head.dq + (first + r) * head.qkv_stride;
    const float* from = head.dq_tile + r * head.width;
    over_row(head.d, [&](auto lanes, int64_t i) HWY_ATTR {
      lanes.store(hn::Mul(lanes.load(from + i), hn::Set(kFloats, scale)), to + i);
    });
  }
}

// Adds a chunk's sums over its queries [begin, end) to dk and dv; its own keys have none before.
HWY_INLINE void add_chunk(const BackwardHead& head, int64_t begin, int64_t end) {
  for (int64_t key = 0; key < end; ++key) {
    float* to = head.dq + key * head.qkv_stride + head.d;
    if (key + kPrefetchRows < end) {
      prefetch_row(to + kPrefetchRows * head.qkv_stride, 2 * head.d);
    }
    for (const float* sums : {head.dk_sums, head.dv_sums}) {
      over_row(head.d, [&](auto lanes, int64_t i) HWY_ATTR {
        const FloatVector sum = lanes.load(sums + key * head.width + i);
        lanes.store(key < begin ? hn::Add(lanes.load(to + i), sum) : sum, to + i);
      });
      to += head.d;
    }
  }
}

template <bool Drops>
void backward_task(const program::AttentionBackward& op, const Arguments& arguments,
                   const HeadTasks::Task& task, Turns& turns, float* workspace) {
  const BackwardHead head(op, arguments, task, workspace);
  const Dropper dropper(op.dropout, *arguments.pointer<const int32_t>(op.kSeed), arguments.layer,
                        arguments.pointer<const int64_t>(op.kSamples)[task.sequence]);
  const float* k = head.q + head.d;
  const float* v = k + head.d;
  pack<kPanelColumns>({k, head.qkv_stride}, 0, task.end, 0, head.d, head.k_panels);
  pack<kPanelColumns>({v, head.qkv_stride}, 0, task.end, 0, head.d, head.v_panels);
  copy_rows(k, head.qkv_stride, task.end, head.d, 1.0F, head.k, head.width);
  for (int64_t begin = task.begin; begin < task.end; begin += kAttentionChunk) {
    const int64_t end = std::min(begin + kAttentionChunk, task.end);
    for (float* sums : {head.dk_sums, head.dv_sums}) {
      std::memset(sums, 0, static_cast<size_t>(end * head.width) * sizeof(float));
    }
    for (int64_t first = begin; first < end; first += kAttentionTile) {
      backward_tile<Drops>(head, {head, head.segment_starts, head.segment_stride, first}, dropper);
    }
    const int64_t sum = task.sequence * op.heads + task.head;
    turns.wait(sum, begin / kAttentionChunk);
    add_chunk(head, begin, end);
    turns.pass_on(sum);
  }
}

void attention_backward_task(const program::AttentionBackward& op, const Arguments& arguments,
                             const HeadTasks::Task& task, Turns& turns, float* workspace) {
  if (op.dropout.probability == 0) {
    backward_task<false>(op, arguments, task, turns, workspace);
  } else {
    backward_task<true>(op, arguments, task, turns, workspace);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace trireme::ops::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trireme::ops::cpu {
namespace {

HWY_EXPORT(attention_backward_task);

void attention_backward(device::Stream& stream, const program::AttentionBackward& op,
                        const Arguments& arguments) {
  ThreadPool& pool = pool_of(stream);
  const HeadTasks tasks(op, pool.threads());
  const int64_t bytes = op.thread_workspace_bytes();
  Turns turns(arguments.workspace + pool.threads() * bytes, op.sequences * op.heads);
  pool.parallel_for(tasks.count(), [&](int64_t index, int thread) {
    HWY_DYNAMIC_DISPATCH(attention_backward_task)
    (op, arguments, tasks[index], turns,
     reinterpret_cast<float*>(arguments.workspace + thread * bytes));
  });
}

}  // namespace

void add_attention_backward(KernelTable& table) {
  entry<program::AttentionBackward, attention_backward>(table);
}

}  // namespace trireme::ops::cpu
#endif
