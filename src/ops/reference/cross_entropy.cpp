#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/reference/reference.h"

namespace trireme::ops::reference {
namespace {

template <std::floating_point T>
void logit_maximum(device::Stream&, const program::LogitMaximum& op, const Arguments& arguments) {
  const T* logits = arguments.pointer<const T>(op.kLogits);
  T* maximum = arguments.pointer<T>(op.kMaximum);
  for (int64_t row = 0; row < op.rows; ++row) {
    T largest = -std::numeric_limits<T>::infinity();
    for (int64_t c = 0; c < op.counted; ++c) {
      largest = std::max(largest, logits[row * op.columns + c]);
    }
    maximum[row] = largest;
  }
}

template <std::floating_point T>
void logit_sum(device::Stream&, const program::LogitSum& op, const Arguments& arguments) {
  const T* logits = arguments.pointer<const T>(op.kLogits);
  const auto* labels = arguments.pointer<const int32_t>(op.kLabels);
  const T* maximum = arguments.pointer<const T>(op.kMaximum);
  T* sums = arguments.pointer<T>(op.kSum);
  T* targets = arguments.pointer<T>(op.kTarget);
  for (int64_t row = 0; row < op.rows; ++row) {
    const int64_t label = labels[row] - op.first_row;
    double sum = 0;
    double target = 0;
    for (int64_t c = 0; c < op.counted; ++c) {
      const double shifted = double{logits[row * op.columns + c]} - maximum[row];
      sum += std::exp(shifted);
      if (c == label) target = shifted;
    }
    sums[row] = static_cast<T>(sum);
    targets[row] = static_cast<T>(target);
  }
}

template <std::floating_point T>
void cross_entropy(device::Stream&, const program::CrossEntropy& op, const Arguments& arguments) {
  T* logits = arguments.pointer<T>(op.kLogits);
  const auto* labels = arguments.pointer<const int32_t>(op.kLabels);
  const T* loss_mask = arguments.pointer<const T>(op.kLossMask);
  const T* maximum = arguments.pointer<const T>(op.kMaximum);
  const T* sum = arguments.pointer<const T>(op.kSum);
  const T* target = arguments.pointer<const T>(op.kTarget);
  const double gradient_scale = *arguments.pointer<const T>(op.kGradientScale);
  T* losses = arguments.pointer<T>(op.kLosses);
  for (int64_t row = 0; row < op.rows; ++row) {
    losses[row] = static_cast<T>(std::log(double{sum[row]}) - target[row]);
    if (!op.gradient) continue;
    const int64_t label = labels[row] - op.first_row;
    for (int64_t c = 0; c < op.columns; ++c) {
      T& logit = logits[row * op.columns + c];
      const bool is_word = c < op.counted;
      const double softmax = is_word ? std::exp(double{logit} - maximum[row]) / sum[row] : 0.0;
      const double one_hot = is_word && c == label ? 1.0 : 0.0;
      logit = static_cast<T>((softmax - one_hot) * loss_mask[row] * gradient_scale);
    }
  }
}

template <std::floating_point T>
void loss_total(device::Stream&, const program::LossTotal& op, const Arguments& arguments) {
  const T* losses = arguments.pointer<const T>(op.kLosses);
  const T* loss_mask = arguments.pointer<const T>(op.kLossMask);
  double* total = arguments.pointer<double>(op.kTotal);
  for (int64_t row = 0; row < op.rows; ++row) *total += double{losses[row]} * loss_mask[row];
}

}  // namespace

template <std::floating_point T>
void add_cross_entropy(KernelTable& table) {
  entry<program::LogitMaximum, logit_maximum<T>>(table);
  entry<program::LogitSum, logit_sum<T>>(table);
  entry<program::CrossEntropy, cross_entropy<T>>(table);
  entry<program::LossTotal, loss_total<T>>(table);
}
template void add_cross_entropy<float>(KernelTable&);
template void add_cross_entropy<double>(KernelTable&);

}  // namespace trireme::ops::reference
