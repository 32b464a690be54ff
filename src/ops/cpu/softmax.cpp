#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "ops/cpu/blocks.h"
#include "ops/cpu/cpu.h"
#include "ops/cpu/targets.h"
#include "program/op/stored_attention.h"
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/cpu/softmax.cpp"
#include <hwy/foreach_target.h>
#include "ops/cpu/dropout_inl.h"
// clang-format on

// A row of scores stays in the nearest cache over its passes. Its dropout is drawn for two vectors
// at a time, from a key whose number is a multiple of both.

HWY_BEFORE_NAMESPACE();
namespace trireme::ops::cpu {
namespace HWY_NAMESPACE {

using program::ScaleMaskSoftmax;
using program::ScaleMaskSoftmaxBackward;
using program::StoredAttentionSizes;

// One row of [b, heads, s, s].
struct ScoreRow {
  int64_t query, head, sequence;
  ScoreRow(const StoredAttentionSizes& op, int64_t row)
      : query(row % op.length),
        head(row / op.length % op.heads),
        sequence(row / op.length / op.heads) {}
  // Of the row's first key in the random format.
  [[nodiscard]] int64_t random_block(const StoredAttentionSizes& op) const {
    return ((op.first_head + head) * op.length + query) * (random_row(op.length) / 4);
  }
};

template <class Op>
HWY_INLINE Dropper dropper_of(const Op& op, const Arguments& arguments, const ScoreRow& at) {
  return {op.dropout, *arguments.pointer<const int32_t>(op.kSeed), arguments.layer,
          arguments.pointer<const int64_t>(op.kSamples)[at.sequence]};
}

HWY_INLINE void zero(float* row, int64_t begin, int64_t end) {
  std::memset(row + begin, 0, static_cast<size_t>(end - begin) * sizeof(float));
}

// probabilities [0, length) from scores [first, query]; kept is null where nothing is dropped.
template <bool Drops>
void softmax_row(const float* scores, int64_t first, int64_t query, int64_t length, float scale,
                 const Dropper& dropper, int64_t block, float* probabilities, float* kept) {
  const int64_t begin = first / (2 * kLanes) * (2 * kLanes);
  const int64_t count = query + 1 - begin;
  const float* in = scores + begin;
  float* out = probabilities + begin;
  const FloatVector scale_v = hn::Set(kFloats, scale);
  const FloatVector lowest = hn::Set(kFloats, -std::numeric_limits<float>::infinity());
  const auto attends = [&](int64_t i) HWY_ATTR {
    const auto key = hn::Add(lane_numbers(), hn::Set(kIntegers, static_cast<int32_t>(begin + i)));
    return hn::RebindMask(kFloats,
                          hn::Gt(key, hn::Set(kIntegers, static_cast<int32_t>(first - 1))));
  };
  FloatVector largest = lowest;
  over_row(count, [&](auto lanes, int64_t i) HWY_ATTR {
    const FloatVector score = hn::Mul(lanes.load(in + i), scale_v);
    largest = hn::Max(largest, lanes.or_else(hn::IfThenElse(attends(i), score, lowest), lowest));
  });
  const FloatVector maximum = hn::MaxOfLanes(kFloats, largest);
  const float sum = sum_row(count, [&](auto lanes, int64_t i) HWY_ATTR {
    const FloatVector e = exp(hn::MulSub(lanes.load(in + i), scale_v, maximum));
    const FloatVector weight = hn::IfThenElseZero(attends(i), e);
    lanes.store(weight, out + i);
    return weight;
  });
  const FloatVector inverse = hn::Set(kFloats, 1.0F / sum);
  if constexpr (Drops) {
    float* kept_out = kept + begin;
    over_row_with_bits(count, dropper, block + begin / 4,
                       [&](auto lanes, int64_t i, WordVector bits) HWY_ATTR {
                         const FloatVector p = hn::Mul(lanes.load(out + i), inverse);
                         lanes.store(p, out + i);
                         lanes.store(dropper.keep_scaled(bits, p), kept_out + i);
                       });
    zero(kept, 0, begin);
    zero(kept, query + 1, length);
  } else {
    over_row(count, [&](auto lanes, int64_t i)
                        HWY_ATTR { lanes.store(hn::Mul(lanes.load(out + i), inverse), out + i); });
  }
  zero(probabilities, 0, begin);
  zero(probabilities, query + 1, length);
}

void softmax_rows(const ScaleMaskSoftmax& op, const Arguments& arguments, int64_t first,
                  int64_t last) {
  const auto* segment_starts = arguments.pointer<const int32_t>(op.kSegmentStarts);
  const auto* scores = arguments.pointer<const float>(op.kScores);
  auto* probabilities = arguments.pointer<float>(op.kProbabilities);
  auto* kept = arguments.pointer<float>(op.kKept);
  const float scale = 1.0F / std::sqrt(static_cast<float>(op.head_dim));
  for (int64_t row = first; row < last; ++row) {
    const ScoreRow at(op, row);
    const int64_t start = op.documents ? segment_starts[at.query * op.sequences + at.sequence] : 0;
    const int64_t offset = row * op.length;
    const Dropper dropper = dropper_of(op, arguments, at);
    if (op.dropout.probability > 0) {
      softmax_row<true>(scores + offset, start, at.query, op.length, scale, dropper,
                        at.random_block(op), probabilities + offset, kept + offset);
    } else {
      softmax_row<false>(scores + offset, start, at.query, op.length, scale, dropper, 0,
                         probabilities + offset, nullptr);
    }
  }
}

// dscores [0, length) from dkept and probabilities [0, query].
template <bool Drops>
void softmax_backward_row(const float* dkept, const float* probabilities, int64_t query,
                          int64_t length, float scale, const Dropper& dropper, int64_t block,
                          float* dscores) {
  const int64_t count = query + 1;
  const float* dp = dkept;
  if constexpr (Drops) {
    over_row_with_bits(count, dropper, block, [&](auto lanes, int64_t i, WordVector bits) HWY_ATTR {
      lanes.store(dropper.keep_scaled(bits, lanes.load(dkept + i)), dscores + i);
    });
    dp = dscores;
  }
  const float sum = sum_row(count, [&](auto lanes, int64_t i) HWY_ATTR {
    return hn::Mul(lanes.load(probabilities + i), lanes.load(dp + i));
  });
  const FloatVector sum_v = hn::Set(kFloats, sum);
  const FloatVector scale_v = hn::Set(kFloats, scale);
  over_row(count, [&](auto lanes, int64_t i) HWY_ATTR {
    const FloatVector p = hn::Mul(lanes.load(probabilities + i), scale_v);
    lanes.store(hn::Mul(p, hn::Sub(lanes.load(dp + i), sum_v)), dscores + i);
  });
  zero(dscores, count, length);
}

void softmax_backward_rows(const ScaleMaskSoftmaxBackward& op, const Arguments& arguments,
                           int64_t first, int64_t last) {
  const auto* dkept = arguments.pointer<const float>(op.kDkept);
  const auto* probabilities = arguments.pointer<const float>(op.kProbabilities);
  auto* dscores = arguments.pointer<float>(op.kDscores);
  const float scale = 1.0F / std::sqrt(static_cast<float>(op.head_dim));
  for (int64_t row = first; row < last; ++row) {
    const ScoreRow at(op, row);
    const int64_t offset = row * op.length;
    const Dropper dropper = dropper_of(op, arguments, at);
    if (op.dropout.probability > 0) {
      softmax_backward_row<true>(dkept + offset, probabilities + offset, at.query, op.length, scale,
                                 dropper, at.random_block(op), dscores + offset);
    } else {
      softmax_backward_row<false>(dkept + offset, probabilities + offset, at.query, op.length,
                                  scale, dropper, 0, dscores + offset);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace trireme::ops::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trireme::ops::cpu {
namespace {

HWY_EXPORT(softmax_rows);
HWY_EXPORT(softmax_backward_rows);

void scale_mask_softmax(device::Stream& stream, const program::ScaleMaskSoftmax& op,
                        const Arguments& arguments) {
  over_blocks(stream, op.rows(), rows_per_block(op.length), [&](int64_t first, int64_t last) {
    HWY_DYNAMIC_DISPATCH(softmax_rows)(op, arguments, first, last);
  });
}

void scale_mask_softmax_backward(device::Stream& stream,
                                 const program::ScaleMaskSoftmaxBackward& op,
                                 const Arguments& arguments) {
  over_blocks(stream, op.rows(), rows_per_block(op.length), [&](int64_t first, int64_t last) {
    HWY_DYNAMIC_DISPATCH(softmax_backward_rows)(op, arguments, first, last);
  });
}

}  // namespace

void add_softmax(KernelTable& table) {
  entry<program::ScaleMaskSoftmax, scale_mask_softmax>(table);
  entry<program::ScaleMaskSoftmaxBackward, scale_mask_softmax_backward>(table);
}

}  // namespace trireme::ops::cpu
#endif
