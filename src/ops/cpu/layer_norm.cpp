#include <cmath>

#include "ops/cpu/blocks.h"
#include "ops/cpu/cpu.h"
#include "ops/cpu/targets.h"
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/cpu/layer_norm.cpp"
#include <hwy/foreach_target.h>
#include "ops/cpu/column_sum_inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace trireme::ops::cpu {
namespace HWY_NAMESPACE {

// y = (x - mean) rstd gamma + beta of one row.
HWY_INLINE void normalise_row(int64_t n, const float* x, float mean, float rstd, const float* gamma,
                              const float* beta, float* y) {
  const FloatVector mean_v = hn::Set(kFloats, mean);
  const FloatVector rstd_v = hn::Set(kFloats, rstd);
  over_row(n, [&](auto lanes, int64_t i) HWY_ATTR {
    const FloatVector normal = hn::Mul(hn::Sub(lanes.load(x + i), mean_v), rstd_v);
    lanes.store(hn::MulAdd(normal, lanes.load(gamma + i), lanes.load(beta + i)), y + i);
  });
}

void layer_norm_rows(const program::LayerNorm& op, const Arguments& arguments, int64_t first,
                     int64_t last) {
  const int64_t n = op.columns;
  const auto* gamma = arguments.pointer<const float>(op.kGamma);
  const auto* beta = arguments.pointer<const float>(op.kBeta);
  for (int64_t row = first; row < last; ++row) {
    const float* x = arguments.pointer<const float>(op.kX) + row * n;
    float* y = arguments.pointer<float>(op.kY) + row * n;
    const float mean =
        sum_row(n, [&](auto lanes, int64_t i) HWY_ATTR { return lanes.load(x + i); }) /
        static_cast<float>(n);
    const FloatVector mean_v = hn::Set(kFloats, mean);
    const float variance = sum_row(n,
                                   [&](auto lanes, int64_t i) HWY_ATTR {
                                     const FloatVector d = hn::Sub(lanes.load(x + i), mean_v);
                                     return hn::Mul(d, d);
                                   }) /
                           static_cast<float>(n);
    const float rstd = 1.0F / std::sqrt(variance + static_cast<float>(op.epsilon));
    normalise_row(n, x, mean, rstd, gamma, beta, y);
    arguments.pointer<float>(op.kMean)[row] = mean;
    arguments.pointer<float>(op.kRstd)[row] = rstd;
  }
}

void layer_norm_output_rows(const program::LayerNormOutput& op, const Arguments& arguments,
                            int64_t first, int64_t last) {
  for (int64_t row = first; row < last; ++row) {
    normalise_row(op.columns, arguments.pointer<const float>(op.kX) + row * op.columns,
                  arguments.pointer<const float>(op.kMean)[row],
                  arguments.pointer<const float>(op.kRstd)[row],
                  arguments.pointer<const float>(op.kGamma),
                  arguments.pointer<const float>(op.kBeta),
                  arguments.pointer<float>(op.kY) + row * op.columns);
  }
}

// With n = (x - mean) rstd and g = dy gamma: dx = rstd (g - mean(g) - n mean(g n)).
void layer_norm_backward_rows(const program::LayerNormBackward& op, const Arguments& arguments,
                              int64_t first, int64_t last) {
  const int64_t n = op.columns;
  const auto* gamma = arguments.pointer<const float>(op.kGamma);
  for (int64_t row = first; row < last; ++row) {
    const float* dy = arguments.pointer<const float>(op.kDy) + row * n;
    const float* x = arguments.pointer<const float>(op.kX) + row * n;
    float* dx = arguments.pointer<float>(op.kDx) + row * n;
    const FloatVector mean = hn::Set(kFloats, arguments.pointer<const float>(op.kMean)[row]);
    const FloatVector rstd = hn::Set(kFloats, arguments.pointer<const float>(op.kRstd)[row]);
    const auto scaled = [&](auto lanes, int64_t i)
                            HWY_ATTR { return hn::Mul(lanes.load(dy + i), lanes.load(gamma + i)); };
    const auto normal = [&](auto lanes, int64_t i)
                            HWY_ATTR { return hn::Mul(hn::Sub(lanes.load(x + i), mean), rstd); };
    const float mean_g = sum_row(n, scaled) / static_cast<float>(n);
    const float mean_gn =
        sum_row(n, [&](auto lanes, int64_t i)
                       HWY_ATTR { return hn::Mul(scaled(lanes, i), normal(lanes, i)); }) /
        static_cast<float>(n);
    const FloatVector mean_g_v = hn::Set(kFloats, mean_g);
    const FloatVector mean_gn_v = hn::Set(kFloats, mean_gn);
    const auto through_norm = [&](auto lanes, int64_t i) HWY_ATTR {
      const FloatVector d = hn::Sub(scaled(lanes, i), mean_g_v);
      return hn::Mul(rstd, hn::NegMulAdd(normal(lanes, i), mean_gn_v, d));
    };
    if (op.residual) {
      const float* dresidual = arguments.pointer<const float>(op.kDresidual) + row * n;
      over_row(n, [&](auto lanes, int64_t i) HWY_ATTR {
        lanes.store(hn::Add(lanes.load(dresidual + i), through_norm(lanes, i)), dx + i);
      });
    } else {
      over_row(
          n, [&](auto lanes, int64_t i) HWY_ATTR { lanes.store(through_norm(lanes, i), dx + i); });
    }
  }
}

// Partial sums of one block of rows: dgamma's in workspace [blocks, columns], dbeta's behind them.
void layer_norm_partial_sums(const program::LayerNormGradient& op, const Arguments& arguments,
                             int64_t blocks, int64_t block) {
  const int64_t n = op.columns;
  const auto* dy = arguments.pointer<const float>(op.kDy);
  const auto* x = arguments.pointer<const float>(op.kX);
  const auto* mean = arguments.pointer<const float>(op.kMean);
  const auto* rstd = arguments.pointer<const float>(op.kRstd);
  auto* partials = reinterpret_cast<float*>(arguments.workspace);
  const int64_t first = block * program::kColumnSumRows;
  const int64_t last = std::min(op.rows, first + program::kColumnSumRows);
  sum_columns(first, last, n, partials + block * n,
              [&](auto lanes, int64_t row, int64_t c) HWY_ATTR {
                const FloatVector centred =
                    hn::Sub(lanes.load(x + row * n + c), hn::Set(kFloats, mean[row]));
                const FloatVector normal = hn::Mul(centred, hn::Set(kFloats, rstd[row]));
                return hn::Mul(lanes.load(dy + row * n + c), normal);
              });
  sum_columns(first, last, n, partials + (blocks + block) * n,
              [&](auto lanes, int64_t row, int64_t c)
                  HWY_ATTR { return lanes.load(dy + row * n + c); });
}

void layer_norm_join(const program::LayerNormGradient& op, const Arguments& arguments,
                     int64_t blocks, int64_t first, int64_t last) {
  const auto* partials = reinterpret_cast<const float*>(arguments.workspace);
  join_partial_sums(partials, blocks, op.columns, first, last, arguments.accumulate,
                    arguments.pointer<float>(op.kDgamma));
  join_partial_sums(partials + blocks * op.columns, blocks, op.columns, first, last,
                    arguments.accumulate, arguments.pointer<float>(op.kDbeta));
}

}  // namespace HWY_NAMESPACE
}  // namespace trireme::ops::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trireme::ops::cpu {
namespace {

HWY_EXPORT(layer_norm_rows);
HWY_EXPORT(layer_norm_output_rows);
HWY_EXPORT(layer_norm_backward_rows);
HWY_EXPORT(layer_norm_partial_sums);
HWY_EXPORT(layer_norm_join);

void layer_norm(device::Stream& stream, const program::LayerNorm& op, const Arguments& arguments) {
  over_blocks(stream, op.rows, rows_per_block(op.columns), [&](int64_t first, int64_t last) {
    HWY_DYNAMIC_DISPATCH(layer_norm_rows)(op, arguments, first, last);
  });
}

void layer_norm_output(device::Stream& stream, const program::LayerNormOutput& op,
                       const Arguments& arguments) {
  over_blocks(stream, op.rows, rows_per_block(op.columns), [&](int64_t first, int64_t last) {
    HWY_DYNAMIC_DISPATCH(layer_norm_output_rows)(op, arguments, first, last);
  });
}

void layer_norm_backward(device::Stream& stream, const program::LayerNormBackward& op,
                         const Arguments& arguments) {
  over_blocks(stream, op.rows, rows_per_block(op.columns), [&](int64_t first, int64_t last) {
    HWY_DYNAMIC_DISPATCH(layer_norm_backward_rows)(op, arguments, first, last);
  });
}

void layer_norm_gradient(device::Stream& stream, const program::LayerNormGradient& op,
                         const Arguments& arguments) {
  const int64_t blocks = (op.rows + program::kColumnSumRows - 1) / program::kColumnSumRows;
  over_blocks(stream, blocks, 1, [&](int64_t block, int64_t) {
    HWY_DYNAMIC_DISPATCH(layer_norm_partial_sums)(op, arguments, blocks, block);
  });
  over_blocks(stream, op.columns, rows_per_block(2 * blocks), [&](int64_t first, int64_t last) {
    HWY_DYNAMIC_DISPATCH(layer_norm_join)(op, arguments, blocks, first, last);
  });
}

}  // namespace

void add_layer_norm(KernelTable& table) {
  entry<program::LayerNorm, layer_norm>(table);
  entry<program::LayerNormOutput, layer_norm_output>(table);
  entry<program::LayerNormBackward, layer_norm_backward>(table);
  entry<program::LayerNormGradient, layer_norm_gradient>(table);
}

}  // namespace trireme::ops::cpu
#endif
