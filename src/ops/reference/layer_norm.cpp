#include <cmath>

#include "ops/reference/reference.h"

namespace trireme::ops::reference {
namespace {

template <std::floating_point T>
void layer_norm(device::Stream&, const program::LayerNorm& op, const Arguments& arguments) {
  const T* x = arguments.pointer<const T>(op.kX);
  const T* gamma = arguments.pointer<const T>(op.kGamma);
  const T* beta = arguments.pointer<const T>(op.kBeta);
  T* y = arguments.pointer<T>(op.kY);
  T* means = arguments.pointer<T>(op.kMean);
  T* rstds = arguments.pointer<T>(op.kRstd);
  const auto columns = static_cast<double>(op.columns);
  for (int64_t row = 0; row < op.rows; ++row) {
    const T* in = x + row * op.columns;
    double mean = 0;
    for (int64_t c = 0; c < op.columns; ++c) mean += in[c];
    mean /= columns;
    double variance = 0;
    for (int64_t c = 0; c < op.columns; ++c) variance += (in[c] - mean) * (in[c] - mean);
    variance /= columns;
    const double rstd = 1 / std::sqrt(variance + op.epsilon);
    for (int64_t c = 0; c < op.columns; ++c) {
      y[row * op.columns + c] = static_cast<T>((in[c] - mean) * rstd * gamma[c] + beta[c]);
    }
    means[row] = static_cast<T>(mean);
    rstds[row] = static_cast<T>(rstd);
  }
}

template <std::floating_point T>
void layer_norm_output(device::Stream&, const program::LayerNormOutput& op,
                       const Arguments& arguments) {
  const T* x = arguments.pointer<const T>(op.kX);
  const T* gamma = arguments.pointer<const T>(op.kGamma);
  const T* beta = arguments.pointer<const T>(op.kBeta);
  const T* means = arguments.pointer<const T>(op.kMean);
  const T* rstds = arguments.pointer<const T>(op.kRstd);
  T* y = arguments.pointer<T>(op.kY);
  for (int64_t row = 0; row < op.rows; ++row) {
    for (int64_t c = 0; c < op.columns; ++c) {
      const int64_t i = row * op.columns + c;
      y[i] = static_cast<T>((double{x[i]} - means[row]) * rstds[row] * gamma[c] + beta[c]);
    }
  }
}

// With g = dy gamma and xhat = (x - mean) rstd:
//   dx = rstd (g - average(g) - xhat average(g xhat))
template <std::floating_point T>
void layer_norm_backward(device::Stream&, const program::LayerNormBackward& op,
                         const Arguments& arguments) {
  const T* dy = arguments.pointer<const T>(op.kDy);
  const T* x = arguments.pointer<const T>(op.kX);
  const T* gamma = arguments.pointer<const T>(op.kGamma);
  const T* means = arguments.pointer<const T>(op.kMean);
  const T* rstds = arguments.pointer<const T>(op.kRstd);
  const T* dresidual = arguments.pointer<const T>(op.kDresidual);
  T* dx = arguments.pointer<T>(op.kDx);
  const auto columns = static_cast<double>(op.columns);
  for (int64_t row = 0; row < op.rows; ++row) {
    const double mean = means[row];
    const double rstd = rstds[row];
    double average_g = 0;
    double average_g_xhat = 0;
    for (int64_t c = 0; c < op.columns; ++c) {
      const int64_t i = row * op.columns + c;
      const double g = double{dy[i]} * gamma[c];
      average_g += g / columns;
      average_g_xhat += g * (x[i] - mean) * rstd / columns;
    }
    for (int64_t c = 0; c < op.columns; ++c) {
      const int64_t i = row * op.columns + c;
      const double g = double{dy[i]} * gamma[c];
      const double xhat = (x[i] - mean) * rstd;
      const double through_norm = rstd * (g - average_g - xhat * average_g_xhat);
      dx[i] = static_cast<T>(op.residual ? dresidual[i] + through_norm : through_norm);
    }
  }
}

template <std::floating_point T>
void layer_norm_gradient(device::Stream&, const program::LayerNormGradient& op,
                         const Arguments& arguments) {
  const T* dy = arguments.pointer<const T>(op.kDy);
  const T* x = arguments.pointer<const T>(op.kX);
  const T* means = arguments.pointer<const T>(op.kMean);
  const T* rstds = arguments.pointer<const T>(op.kRstd);
  T* dgamma = arguments.pointer<T>(op.kDgamma);
  T* dbeta = arguments.pointer<T>(op.kDbeta);
  for (int64_t c = 0; c < op.columns; ++c) {
    double gamma_sum = arguments.accumulate ? double{dgamma[c]} : 0.0;
    double beta_sum = arguments.accumulate ? double{dbeta[c]} : 0.0;
    for (int64_t row = 0; row < op.rows; ++row) {
      const int64_t i = row * op.columns + c;
      gamma_sum += dy[i] * (double{x[i]} - means[row]) * rstds[row];
      beta_sum += dy[i];
    }
    dgamma[c] = static_cast<T>(gamma_sum);
    dbeta[c] = static_cast<T>(beta_sum);
  }
}

}  // namespace

template <std::floating_point T>
void add_layer_norm(KernelTable& table) {
  entry<program::LayerNorm, layer_norm<T>>(table);
  entry<program::LayerNormOutput, layer_norm_output<T>>(table);
  entry<program::LayerNormBackward, layer_norm_backward<T>>(table);
  entry<program::LayerNormGradient, layer_norm_gradient<T>>(table);
}
template void add_layer_norm<float>(KernelTable&);
template void add_layer_norm<double>(KernelTable&);

}  // namespace trireme::ops::reference
