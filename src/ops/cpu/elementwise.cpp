#include "ops/cpu/blocks.h"
#include "ops/cpu/cpu.h"
#include "ops/cpu/targets.h"
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/cpu/elementwise.cpp"
#include <hwy/foreach_target.h>
#include "ops/cpu/dropout_inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace trireme::ops::cpu {
namespace HWY_NAMESPACE {

// gelu(z) = 0.5 z (1 + tanh(u)) = z g with g = sigmoid(2u) = 1 / (1 + e), e = exp(-2u),
// u = kGeluSlope (z + kGeluCube z^3). This form keeps its relative precision where tanh is near -1.
constexpr float kGeluSlope = 0.79788456F;  // sqrt(2 / pi)
constexpr float kGeluCube = 0.044715F;

// exp(-2u).
HWY_INLINE FloatVector gelu_exp(FloatVector z, FloatVector z2) {
  const FloatVector slope = hn::MulAdd(z2, hn::Set(kFloats, -2 * kGeluSlope * kGeluCube),
                                       hn::Set(kFloats, -2 * kGeluSlope));
  return exp(hn::Mul(z, slope));
}

void bias_gelu_rows(const program::BiasGelu& op, const Arguments& arguments, int64_t first,
                    int64_t last) {
  const int64_t n = op.columns;
  const auto* bias = arguments.pointer<const float>(op.kBias);
  for (int64_t row = first; row < last; ++row) {
    const float* x = arguments.pointer<const float>(op.kX) + row * n;
    float* y = arguments.pointer<float>(op.kY) + row * n;
    over_row(n, [&](auto lanes, int64_t i) HWY_ATTR {
      const FloatVector z = hn::Add(lanes.load(x + i), lanes.load(bias + i));
      const FloatVector e = gelu_exp(z, hn::Mul(z, z));
      lanes.store(hn::Div(z, hn::Add(hn::Set(kFloats, 1.0F), e)), y + i);
    });
  }
}

// gelu' = g + z g (1 - g) 2u', and 1 - g = e g, which loses nothing where g is near 1.
void bias_gelu_backward_rows(const program::BiasGeluBackward& op, const Arguments& arguments,
                             int64_t first, int64_t last) {
  const int64_t n = op.columns;
  const auto* bias = arguments.pointer<const float>(op.kBias);
  for (int64_t row = first; row < last; ++row) {
    const float* dy = arguments.pointer<const float>(op.kDy) + row * n;
    const float* x = arguments.pointer<const float>(op.kX) + row * n;
    float* dx = arguments.pointer<float>(op.kDx) + row * n;
    over_row(n, [&](auto lanes, int64_t i) HWY_ATTR {
      const FloatVector z = hn::Add(lanes.load(x + i), lanes.load(bias + i));
      const FloatVector z2 = hn::Mul(z, z);
      const FloatVector one = hn::Set(kFloats, 1.0F);
      const FloatVector e = gelu_exp(z, z2);
      const FloatVector g = hn::Div(one, hn::Add(one, e));
      const FloatVector slope = hn::MulAdd(z2, hn::Set(kFloats, 6 * kGeluSlope * kGeluCube),
                                           hn::Set(kFloats, 2 * kGeluSlope));
      const FloatVector dg = hn::Mul(hn::Mul(hn::Mul(e, g), g), slope);
      lanes.store(hn::Mul(lanes.load(dy + i), hn::MulAdd(z, dg, g)), dx + i);
    });
  }
}

void bias_dropout_add_rows(const program::BiasDropoutAdd& op, const Arguments& arguments,
                           int64_t first, int64_t last) {
  const int64_t n = op.hidden;
  const auto* bias = arguments.pointer<const float>(op.kBias);
  for (int64_t row = first; row < last; ++row) {
    const float* x = arguments.pointer<const float>(op.kX) + row * n;
    const float* residual = arguments.pointer<const float>(op.kResidual) + row * n;
    float* y = arguments.pointer<float>(op.kY) + row * n;
    if (op.dropout.probability == 0) {
      over_row(n, [&](auto lanes, int64_t i) HWY_ATTR {
        const FloatVector z = hn::Add(lanes.load(x + i), lanes.load(bias + i));
        lanes.store(hn::Add(lanes.load(residual + i), z), y + i);
      });
      continue;
    }
    const Dropper dropper = row_dropper(op, arguments, row);
    const FloatVector scale = hn::Set(kFloats, dropper.scale());
    over_row_with_bits(n, dropper, random_block(op, row),
                       [&](auto lanes, int64_t i, WordVector bits) HWY_ATTR {
                         const FloatVector z = hn::Add(lanes.load(x + i), lanes.load(bias + i));
                         const FloatVector r = lanes.load(residual + i);
                         const FloatVector kept = hn::MulAdd(z, scale, r);
                         lanes.store(hn::IfThenElse(dropper.drops(bits), r, kept), y + i);
                       });
  }
}

void dropout_backward_rows(const program::DropoutBackward& op, const Arguments& arguments,
                           int64_t first, int64_t last) {
  const int64_t n = op.hidden;
  for (int64_t row = first; row < last; ++row) {
    const float* dy = arguments.pointer<const float>(op.kDy) + row * n;
    float* dx = arguments.pointer<float>(op.kDx) + row * n;
    if (op.dropout.probability == 0) {
      if (dx != dy) std::memcpy(dx, dy, static_cast<size_t>(n) * sizeof(float));
      continue;
    }
    const Dropper dropper = row_dropper(op, arguments, row);
    over_row_with_bits(n, dropper, random_block(op, row),
                       [&](auto lanes, int64_t i, WordVector bits) HWY_ATTR {
                         lanes.store(dropper.keep_scaled(bits, lanes.load(dy + i)), dx + i);
                       });
  }
}

void add_into_range(const program::AddInto& op, const Arguments& arguments, int64_t first,
                    int64_t last) {
  const float* x = arguments.pointer<const float>(op.kX) + first;
  float* y = arguments.pointer<float>(op.kY) + first;
  over_row(last - first, [&](auto lanes, int64_t i) HWY_ATTR {
    lanes.store(hn::Add(lanes.load(y + i), lanes.load(x + i)), y + i);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace trireme::ops::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trireme::ops::cpu {
namespace {

HWY_EXPORT(bias_gelu_rows);
HWY_EXPORT(bias_gelu_backward_rows);
HWY_EXPORT(bias_dropout_add_rows);
HWY_EXPORT(dropout_backward_rows);
HWY_EXPORT(add_into_range);

void bias_gelu(device::Stream& stream, const program::BiasGelu& op, const Arguments& arguments) {
  over_blocks(stream, op.rows, rows_per_block(op.columns), [&](int64_t first, int64_t last) {
    HWY_DYNAMIC_DISPATCH(bias_gelu_rows)(op, arguments, first, last);
  });
}

void bias_gelu_backward(device::Stream& stream, const program::BiasGeluBackward& op,
                        const Arguments& arguments) {
  over_blocks(stream, op.rows, rows_per_block(op.columns), [&](int64_t first, int64_t last) {
    HWY_DYNAMIC_DISPATCH(bias_gelu_backward_rows)(op, arguments, first, last);
  });
}

void bias_dropout_add(device::Stream& stream, const program::BiasDropoutAdd& op,
                      const Arguments& arguments) {
  over_blocks(stream, op.length * op.sequences, rows_per_block(op.hidden),
              [&](int64_t first, int64_t last) {
                HWY_DYNAMIC_DISPATCH(bias_dropout_add_rows)(op, arguments, first, last);
              });
}

void dropout_backward(device::Stream& stream, const program::DropoutBackward& op,
                      const Arguments& arguments) {
  over_blocks(stream, op.length * op.sequences, rows_per_block(op.hidden),
              [&](int64_t first, int64_t last) {
                HWY_DYNAMIC_DISPATCH(dropout_backward_rows)(op, arguments, first, last);
              });
}

void add_into(device::Stream& stream, const program::AddInto& op, const Arguments& arguments) {
  over_blocks(stream, op.elements, kBlockElements, [&](int64_t first, int64_t last) {
    HWY_DYNAMIC_DISPATCH(add_into_range)(op, arguments, first, last);
  });
}

void copy(device::Stream& stream, const program::Copy& op, const Arguments& arguments) {
  over_blocks(stream, op.elements, kBlockElements, [&](int64_t first, int64_t last) {
    std::memcpy(arguments.pointer<float>(op.kY) + first,
                arguments.pointer<const float>(op.kX) + first,
                static_cast<size_t>(last - first) * sizeof(float));
  });
}

}  // namespace

void add_elementwise(KernelTable& table) {
  entry<program::BiasGelu, bias_gelu>(table);
  entry<program::BiasGeluBackward, bias_gelu_backward>(table);
  entry<program::BiasDropoutAdd, bias_dropout_add>(table);
  entry<program::DropoutBackward, dropout_backward>(table);
  entry<program::AddInto, add_into>(table);
  entry<program::Copy, copy>(table);
}

}  // namespace trireme::ops::cpu
#endif
