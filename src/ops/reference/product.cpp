#include "ops/reference/reference.h"

namespace trireme::ops::reference {
namespace {

template <std::floating_point T>
void product(device::Stream&, const program::Product& op, const Arguments& arguments) {
  const T* x = arguments.pointer<const T>(op.kX);
  const T* w = arguments.pointer<const T>(op.kW);
  const T* bias = arguments.pointer<const T>(op.kBias);
  T* y = arguments.pointer<T>(op.kY);
  for (int64_t row = 0; row < op.rows; ++row) {
    for (int64_t out = 0; out < op.out; ++out) {
      double sum = op.bias ? double{bias[out]} : 0.0;
      for (int64_t in = 0; in < op.in; ++in) {
        sum += double{x[row * op.in + in]} * w[out * op.in + in];
      }
      y[row * op.out + out] = static_cast<T>(sum);
    }
  }
}

template <std::floating_point T>
void product_input_gradient(device::Stream&, const program::ProductInputGradient& op,
                            const Arguments& arguments) {
  const T* dy = arguments.pointer<const T>(op.kDy);
  const T* w = arguments.pointer<const T>(op.kW);
  T* dx = arguments.pointer<T>(op.kDx);
  for (int64_t row = 0; row < op.rows; ++row) {
    for (int64_t in = 0; in < op.in; ++in) {
      double sum = 0;
      for (int64_t out = 0; out < op.out; ++out) {
        sum += double{dy[row * op.out + out]} * w[out * op.in + in];
      }
      dx[row * op.in + in] = static_cast<T>(sum);
    }
  }
}

template <std::floating_point T>
void product_weight_gradient(device::Stream&, const program::ProductWeightGradient& op,
                             const Arguments& arguments) {
  const T* dy = arguments.pointer<const T>(op.kDy);
  const T* x = arguments.pointer<const T>(op.kX);
  T* dw = arguments.pointer<T>(op.kDw);
  for (int64_t out = 0; out < op.out; ++out) {
    for (int64_t in = 0; in < op.in; ++in) {
      double sum = arguments.accumulate ? double{dw[out * op.in + in]} : 0.0;
      for (int64_t row = 0; row < op.rows; ++row) {
        sum += double{dy[row * op.out + out]} * x[row * op.in + in];
      }
      dw[out * op.in + in] = static_cast<T>(sum);
    }
  }
}

template <std::floating_point T>
void bias_gradient(device::Stream&, const program::BiasGradient& op, const Arguments& arguments) {
  const T* dy = arguments.pointer<const T>(op.kDy);
  T* dbias = arguments.pointer<T>(op.kDbias);
  for (int64_t c = 0; c < op.columns; ++c) {
    double sum = arguments.accumulate ? double{dbias[c]} : 0.0;
    for (int64_t row = 0; row < op.rows; ++row) sum += dy[row * op.columns + c];
    dbias[c] = static_cast<T>(sum);
  }
}

}  // namespace

template <std::floating_point T>
void add_product(KernelTable& table) {
  entry<program::Product, product<T>>(table);
  entry<program::ProductInputGradient, product_input_gradient<T>>(table);
  entry<program::ProductWeightGradient, product_weight_gradient<T>>(table);
  entry<program::BiasGradient, bias_gradient<T>>(table);
}
template void add_product<float>(KernelTable&);
template void add_product<double>(KernelTable&);

}  // namespace trireme::ops::reference
