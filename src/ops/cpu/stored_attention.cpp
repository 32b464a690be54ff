#include "program/op/stored_attention.h"

#include <algorithm>
#include <cstring>

#include "ops/cpu/blocks.h"
#include "ops/cpu/cpu.h"
#include "ops/cpu/head_tasks.h"
#include "ops/cpu/targets.h"
#include "ops/kernel.h"
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/cpu/stored_attention.cpp"
#include <hwy/foreach_target.h>
#include "ops/cpu/attention_inl.h"
// clang-format on

// The products of attention with stored scores: three kinds, each over a task's positions of one
// head. Vectors are copied out of [s, b, heads, 3, d] into the thread's workspace, matrices are
// read in place. What lies above the diagonal is skipped, block by block of rows.

HWY_BEFORE_NAMESPACE();
namespace trireme::ops::cpu {
namespace HWY_NAMESPACE {

HWY_INLINE void copy_out(const float* from, int64_t width, int64_t rows, int64_t columns, float* to,
                         int64_t to_stride) {
  for (int64_t row = 0; row < rows; ++row) {
    std::memcpy(to + row * to_stride, from + row * width,
                static_cast<size_t>(columns) * sizeof(float));
  }
}

// out[query][key] = left[query] . right[key] for keys 0 .. query, zero for the others.
void outer_product(const AttentionSizes& op, const HeadTasks::Task& task,
                   const HeadVectors<const float>& left, const HeadVectors<const float>& right,
                   float* out, float* workspace) {
  const Head head(op, task.sequence, task.head);
  float* right_panels = workspace;
  float* left_tile = right_panels + head.keys * head.width;
  float* tile = left_tile + kAttentionTile * head.width;
  pack<kPanelColumns>({right.data, right.stride}, 0, task.end, 0, head.d, right_panels);
  for (int64_t first = task.begin; first < task.end; first += kAttentionTile) {
    const Queries queries(head, first);
    copy_rows(left.at(first), left.stride, queries.count, head.d, 1.0F, left_tile, head.width);
    score_product(head, queries, left_tile, right_panels, tile);
    for (int64_t r = 0; r < queries.count; ++r) {
      const int64_t seen = first + r + 1;
      float* row = out + (first + r) * head.length;
      std::memcpy(row, tile + r * head.keys, static_cast<size_t>(seen) * sizeof(float));
      std::memset(row + seen, 0, static_cast<size_t>(head.length - seen) * sizeof(float));
    }
  }
}

// out[query] = sum over keys of matrix[query][key] by_key[key].
void sum_over_keys(const AttentionSizes& op, const HeadTasks::Task& task, const float* matrix,
                   const HeadVectors<const float>& by_key, const HeadVectors<float>& out,
                   float* workspace) {
  const Head head(op, task.sequence, task.head);
  float* keys = workspace;
  float* tile = keys + head.keys * head.width;
  copy_rows(by_key.data, by_key.stride, task.end, head.d, 1.0F, keys, head.width);
  for (int64_t first = task.begin; first < task.end; first += kAttentionTile) {
    const Queries queries(head, first);
    key_product(head, queries, matrix + first * head.length, head.length, keys, tile);
    copy_out(tile, head.width, queries.count, head.d, out.at(first), out.stride);
  }
}

// out[key] = sum over queries of matrix[query][key] by_query[query].
void sum_over_queries(const AttentionSizes& op, const HeadTasks::Task& task, const float* matrix,
                      const HeadVectors<const float>& by_query, const HeadVectors<float>& out,
                      float* workspace) {
  const Head head(op, task.sequence, task.head);
  float* sums = workspace;
  float* tile = sums + head.keys * head.width;
  std::memset(sums + task.begin * head.width, 0,
              static_cast<size_t>((task.end - task.begin) * head.width) * sizeof(float));
  for (int64_t first = task.begin; first < head.length; first += kAttentionTile) {
    const Queries queries(head, first);
    copy_rows(by_query.at(first), by_query.stride, queries.count, head.d, 1.0F, tile, head.width);
    query_product(head, queries, task.begin, task.end, matrix + first * head.length, head.length,
                  tile, sums);
  }
  copy_out(sums + task.begin * head.width, head.width, task.end - task.begin, head.d,
           out.at(task.begin), out.stride);
}

}  // namespace HWY_NAMESPACE
}  // namespace trireme::ops::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trireme::ops::cpu {
namespace {

HWY_EXPORT(outer_product);
HWY_EXPORT(sum_over_keys);
HWY_EXPORT(sum_over_queries);

using ConstVectors = HeadVectors<const float>;
using OutVectors = HeadVectors<float>;

// work(task, workspace) for the tasks of the op's heads, on the stream's threads.
template <class Op, class Work>
void over_heads(device::Stream& stream, const Op& op, const Arguments& arguments,
                const Work& work) {
  ThreadPool& pool = pool_of(stream);
  const HeadTasks tasks(op, pool.threads());
  pool.parallel_for(tasks.count(), [&](int64_t index, int thread) {
    work(tasks[index], reinterpret_cast<float*>(arguments.workspace +
                                                thread * op.workspace_bytes({.threads = 1})));
  });
}

// A head's part of [b, heads, s, s].
template <class T>
T* matrix_of(T* all, const program::AttentionSizes& op, const HeadTasks::Task& task) {
  return all + (task.sequence * op.heads + task.head) * op.length * op.length;
}

void attention_scores(device::Stream& stream, const program::AttentionScores& op,
                      const Arguments& arguments) {
  const auto* qkv = arguments.pointer<const float>(op.kQkv);
  auto* scores = arguments.pointer<float>(op.kScores);
  over_heads(stream, op, arguments, [&](const HeadTasks::Task& task, float* workspace) {
    HWY_DYNAMIC_DISPATCH(outer_product)
    (op, task, ConstVectors(qkv, op, task, 3, 0), ConstVectors(qkv, op, task, 3, 1),
     matrix_of(scores, op, task), workspace);
  });
}

void attention_scores_backward(device::Stream& stream, const program::AttentionScoresBackward& op,
                               const Arguments& arguments) {
  const auto* dscores = arguments.pointer<const float>(op.kDscores);
  const auto* qkv = arguments.pointer<const float>(op.kQkv);
  auto* dqkv = arguments.pointer<float>(op.kDqkv);
  over_heads(stream, op, arguments, [&](const HeadTasks::Task& task, float* workspace) {
    const float* matrix = matrix_of(dscores, op, task);
    HWY_DYNAMIC_DISPATCH(sum_over_keys)
    (op, task, matrix, ConstVectors(qkv, op, task, 3, 1), OutVectors(dqkv, op, task, 3, 0),
     workspace);
    HWY_DYNAMIC_DISPATCH(sum_over_queries)
    (op, task, matrix, ConstVectors(qkv, op, task, 3, 0), OutVectors(dqkv, op, task, 3, 1),
     workspace);
  });
}

void attention_context(device::Stream& stream, const program::AttentionContext& op,
                       const Arguments& arguments) {
  const auto* kept = arguments.pointer<const float>(op.kKept);
  const auto* qkv = arguments.pointer<const float>(op.kQkv);
  auto* context = arguments.pointer<float>(op.kContext);
  over_heads(stream, op, arguments, [&](const HeadTasks::Task& task, float* workspace) {
    HWY_DYNAMIC_DISPATCH(sum_over_keys)
    (op, task, matrix_of(kept, op, task), ConstVectors(qkv, op, task, 3, 2),
     OutVectors(context, op, task), workspace);
  });
}

void attention_context_backward(device::Stream& stream, const program::AttentionContextBackward& op,
                                const Arguments& arguments) {
  const auto* dcontext = arguments.pointer<const float>(op.kDcontext);
  const auto* kept = arguments.pointer<const float>(op.kKept);
  const auto* qkv = arguments.pointer<const float>(op.kQkv);
  auto* dkept = arguments.pointer<float>(op.kDkept);
  auto* dqkv = arguments.pointer<float>(op.kDqkv);
  over_heads(stream, op, arguments, [&](const HeadTasks::Task& task, float* workspace) {
    const ConstVectors dout(dcontext, op, task);
    HWY_DYNAMIC_DISPATCH(outer_product)
    (op, task, dout, ConstVectors(qkv, op, task, 3, 2), matrix_of(dkept, op, task), workspace);
    HWY_DYNAMIC_DISPATCH(sum_over_queries)
    (op, task, matrix_of(kept, op, task), dout, OutVectors(dqkv, op, task, 3, 2), workspace);
  });
}

}  // namespace

void add_stored_attention(KernelTable& table) {
  entry<program::AttentionScores, attention_scores>(table);
  entry<program::AttentionScoresBackward, attention_scores_backward>(table);
  entry<program::AttentionContext, attention_context>(table);
  entry<program::AttentionContextBackward, attention_context_backward>(table);
}

}  // namespace trireme::ops::cpu
#endif
