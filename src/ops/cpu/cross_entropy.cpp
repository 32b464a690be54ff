#include <cmath>
#include <limits>

#include "ops/cpu/blocks.h"
#include "ops/cpu/cpu.h"
#include "ops/cpu/targets.h"
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/cpu/cross_entropy.cpp"
#include <hwy/foreach_target.h>
#include "ops/cpu/vector_inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace trireme::ops::cpu {
namespace HWY_NAMESPACE {

void logit_maximum_rows(const program::LogitMaximum& op, const Arguments& arguments, int64_t first,
                        int64_t last) {
  const FloatVector lowest = hn::Set(kFloats, -std::numeric_limits<float>::infinity());
  for (int64_t row = first; row < last; ++row) {
    const float* logits = arguments.pointer<const float>(op.kLogits) + row * op.columns;
    // A maximum is the same in any order; four of them hide its latency.
    FloatVector largest[4] = {lowest, lowest, lowest, lowest};
    int64_t i = 0;
    for (; i + 4 * kLanes <= op.counted; i += 4 * kLanes) {
      for (int64_t k = 0; k < 4; ++k) {
        largest[k] = hn::Max(largest[k], hn::LoadU(kFloats, logits + i + k * kLanes));
      }
    }
    over_row(op.counted - i, [&](auto lanes, int64_t k) HWY_ATTR {
      largest[0] = hn::Max(largest[0], lanes.or_else(lanes.load(logits + i + k), lowest));
    });
    const FloatVector all =
        hn::Max(hn::Max(largest[0], largest[1]), hn::Max(largest[2], largest[3]));
    arguments.pointer<float>(op.kMaximum)[row] = hn::GetLane(hn::MaxOfLanes(kFloats, all));
  }
}

void logit_sum_rows(const program::LogitSum& op, const Arguments& arguments, int64_t first,
                    int64_t last) {
  for (int64_t row = first; row < last; ++row) {
    const float* logits = arguments.pointer<const float>(op.kLogits) + row * op.columns;
    const float maximum = arguments.pointer<const float>(op.kMaximum)[row];
    const FloatVector maximum_v = hn::Set(kFloats, maximum);
    arguments.pointer<float>(op.kSum)[row] =
        sum_row(op.counted, [&](auto lanes, int64_t i) HWY_ATTR {
          return exp(hn::Sub(lanes.load(logits + i), maximum_v));
        });
    const int64_t label = arguments.pointer<const int32_t>(op.kLabels)[row] - op.first_row;
    const bool ours = label >= 0 && label < op.counted;
    arguments.pointer<float>(op.kTarget)[row] = ours ? logits[label] - maximum : 0.0F;
  }
}

void cross_entropy_gradient_rows(const program::CrossEntropy& op, const Arguments& arguments,
                                 int64_t first, int64_t last) {
  const float gradient_scale = *arguments.pointer<const float>(op.kGradientScale);
  for (int64_t row = first; row < last; ++row) {
    float* logits = arguments.pointer<float>(op.kLogits) + row * op.columns;
    const FloatVector maximum = hn::Set(kFloats, arguments.pointer<const float>(op.kMaximum)[row]);
    const float scale = arguments.pointer<const float>(op.kLossMask)[row] * gradient_scale;
    const FloatVector scale_over_sum =
        hn::Set(kFloats, scale / arguments.pointer<const float>(op.kSum)[row]);
    over_row(op.counted, [&](auto lanes, int64_t i) HWY_ATTR {
      const FloatVector weight = exp(hn::Sub(lanes.load(logits + i), maximum));
      lanes.store(hn::Mul(weight, scale_over_sum), logits + i);
    });
    const int64_t label = arguments.pointer<const int32_t>(op.kLabels)[row] - op.first_row;
    if (label >= 0 && label < op.counted) logits[label] -= scale;
    over_row(op.columns - op.counted, [&](auto lanes, int64_t i) HWY_ATTR {
      lanes.store(hn::Zero(kFloats), logits + op.counted + i);
    });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace trireme::ops::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trireme::ops::cpu {
namespace {

HWY_EXPORT(logit_maximum_rows);
HWY_EXPORT(logit_sum_rows);
HWY_EXPORT(cross_entropy_gradient_rows);

void logit_maximum(device::Stream& stream, const program::LogitMaximum& op,
                   const Arguments& arguments) {
  over_blocks(stream, op.rows, rows_per_block(op.columns), [&](int64_t first, int64_t last) {
    HWY_DYNAMIC_DISPATCH(logit_maximum_rows)(op, arguments, first, last);
  });
}

void logit_sum(device::Stream& stream, const program::LogitSum& op, const Arguments& arguments) {
  over_blocks(stream, op.rows, rows_per_block(op.columns), [&](int64_t first, int64_t last) {
    HWY_DYNAMIC_DISPATCH(logit_sum_rows)(op, arguments, first, last);
  });
}

void cross_entropy(device::Stream& stream, const program::CrossEntropy& op,
                   const Arguments& arguments) {
  const auto* sum = arguments.pointer<const float>(op.kSum);
  const auto* target = arguments.pointer<const float>(op.kTarget);
  auto* losses = arguments.pointer<float>(op.kLosses);
  for (int64_t row = 0; row < op.rows; ++row) {
    losses[row] = static_cast<float>(std::log(double{sum[row]}) - target[row]);
  }
  if (!op.gradient) return;
  over_blocks(stream, op.rows, rows_per_block(op.columns), [&](int64_t first, int64_t last) {
    HWY_DYNAMIC_DISPATCH(cross_entropy_gradient_rows)(op, arguments, first, last);
  });
}

// In order and in double: a thousand additions are not worth cutting.
void loss_total(device::Stream&, const program::LossTotal& op, const Arguments& arguments) {
  const auto* losses = arguments.pointer<const float>(op.kLosses);
  const auto* loss_mask = arguments.pointer<const float>(op.kLossMask);
  double total = *arguments.pointer<double>(op.kTotal);
  for (int64_t row = 0; row < op.rows; ++row) total += double{losses[row]} * loss_mask[row];
  *arguments.pointer<double>(op.kTotal) = total;
}

}  // namespace

void add_cross_entropy(KernelTable& table) {
  entry<program::LogitMaximum, logit_maximum>(table);
  entry<program::LogitSum, logit_sum>(table);
  entry<program::CrossEntropy, cross_entropy>(table);
  entry<program::LossTotal, loss_total>(table);
}

}  // namespace trireme::ops::cpu
#endif
