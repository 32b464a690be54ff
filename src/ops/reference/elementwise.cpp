#include <algorithm>
#include <cmath>

#include "ops/reference/dropout.h"
#include "ops/reference/reference.h"

namespace trireme::ops::reference {
namespace {

constexpr double kSqrtTwoOverPi = 0.79788456;
constexpr double kCubic = 0.044715;

double gelu(double z) {
  return 0.5 * z * (1 + std::tanh(kSqrtTwoOverPi * (z + kCubic * z * z * z)));
}

double gelu_slope(double z) {
  const double t = std::tanh(kSqrtTwoOverPi * (z + kCubic * z * z * z));
  const double inner_slope = kSqrtTwoOverPi * (1 + 3 * kCubic * z * z);
  return 0.5 * (1 + t) + 0.5 * z * (1 - t * t) * inner_slope;
}

template <std::floating_point T>
void bias_gelu(device::Stream&, const program::BiasGelu& op, const Arguments& arguments) {
  const T* x = arguments.pointer<const T>(op.kX);
  const T* bias = arguments.pointer<const T>(op.kBias);
  T* y = arguments.pointer<T>(op.kY);
  for (int64_t row = 0; row < op.rows; ++row) {
    for (int64_t c = 0; c < op.columns; ++c) {
      const int64_t i = row * op.columns + c;
      y[i] = static_cast<T>(gelu(double{x[i]} + bias[c]));
    }
  }
}

template <std::floating_point T>
void bias_gelu_backward(device::Stream&, const program::BiasGeluBackward& op,
                        const Arguments& arguments) {
  const T* dy = arguments.pointer<const T>(op.kDy);
  const T* x = arguments.pointer<const T>(op.kX);
  const T* bias = arguments.pointer<const T>(op.kBias);
  T* dx = arguments.pointer<T>(op.kDx);
  for (int64_t row = 0; row < op.rows; ++row) {
    for (int64_t c = 0; c < op.columns; ++c) {
      const int64_t i = row * op.columns + c;
      dx[i] = static_cast<T>(dy[i] * gelu_slope(double{x[i]} + bias[c]));
    }
  }
}

template <std::floating_point T>
void bias_dropout_add(device::Stream&, const program::BiasDropoutAdd& op,
                      const Arguments& arguments) {
  const T* x = arguments.pointer<const T>(op.kX);
  const T* bias = arguments.pointer<const T>(op.kBias);
  const T* residual = arguments.pointer<const T>(op.kResidual);
  const auto* samples = arguments.pointer<const int64_t>(op.kSamples);
  const int32_t seed = *arguments.pointer<const int32_t>(op.kSeed);
  T* y = arguments.pointer<T>(op.kY);
  for (int64_t position = 0; position < op.length; ++position) {
    for (int64_t sequence = 0; sequence < op.sequences; ++sequence) {
      const DropoutMask mask(op.dropout, seed, arguments.layer, samples[sequence]);
      for (int64_t c = 0; c < op.hidden; ++c) {
        const int64_t i = (position * op.sequences + sequence) * op.hidden + c;
        const double factor = mask.factor(position * random_row(op.hidden) + c);
        y[i] = static_cast<T>(residual[i] + (double{x[i]} + bias[c]) * factor);
      }
    }
  }
}

template <std::floating_point T>
void dropout_backward(device::Stream&, const program::DropoutBackward& op,
                      const Arguments& arguments) {
  const T* dy = arguments.pointer<const T>(op.kDy);
  const auto* samples = arguments.pointer<const int64_t>(op.kSamples);
  const int32_t seed = *arguments.pointer<const int32_t>(op.kSeed);
  T* dx = arguments.pointer<T>(op.kDx);
  for (int64_t position = 0; position < op.length; ++position) {
    for (int64_t sequence = 0; sequence < op.sequences; ++sequence) {
      const DropoutMask mask(op.dropout, seed, arguments.layer, samples[sequence]);
      for (int64_t c = 0; c < op.hidden; ++c) {
        const int64_t i = (position * op.sequences + sequence) * op.hidden + c;
        dx[i] = static_cast<T>(dy[i] * mask.factor(position * random_row(op.hidden) + c));
      }
    }
  }
}

template <std::floating_point T>
void add_into(device::Stream&, const program::AddInto& op, const Arguments& arguments) {
  const T* x = arguments.pointer<const T>(op.kX);
  T* y = arguments.pointer<T>(op.kY);
  for (int64_t i = 0; i < op.elements; ++i) y[i] = static_cast<T>(double{y[i]} + x[i]);
}

template <std::floating_point T>
void copy(device::Stream&, const program::Copy& op, const Arguments& arguments) {
  std::copy_n(arguments.pointer<const T>(op.kX), op.elements, arguments.pointer<T>(op.kY));
}

}  // namespace

template <std::floating_point T>
void add_elementwise(KernelTable& table) {
  entry<program::BiasGelu, bias_gelu<T>>(table);
  entry<program::BiasGeluBackward, bias_gelu_backward<T>>(table);
  entry<program::BiasDropoutAdd, bias_dropout_add<T>>(table);
  entry<program::DropoutBackward, dropout_backward<T>>(table);
  entry<program::AddInto, add_into<T>>(table);
  entry<program::Copy, copy<T>>(table);
}
template void add_elementwise<float>(KernelTable&);
template void add_elementwise<double>(KernelTable&);

}  // namespace trireme::ops::reference
