#include <algorithm>
#include <cmath>

#include "ops/reference/reference.h"

namespace trireme::ops::reference {
namespace {

template <std::floating_point T>
void square_sums(device::Stream&, const program::SquareSums& op, const Arguments& arguments) {
  const T* gradient = arguments.pointer<const T>(op.kGradient);
  double* squares = arguments.pointer<double>(op.kSquares);
  for (int64_t block = 0; block < program::norm_blocks(op.elements); ++block) {
    const int64_t first = block * program::kNormBlock;
    const int64_t last = std::min(first + program::kNormBlock, op.elements);
    double sum = 0;
    for (int64_t i = first; i < last; ++i) sum += double{gradient[i]} * gradient[i];
    squares[op.first_block + block] = sum;
  }
}

template <std::floating_point T>
void clip_factor(device::Stream&, const program::ClipFactor& op, const Arguments& arguments) {
  const auto* squares = arguments.pointer<const double>(op.kSquares);
  double* norm = arguments.pointer<double>(op.kNorm);
  T* factor = arguments.pointer<T>(op.kFactor);
  *norm = std::sqrt(op.sum(squares));
  *factor = op.clip == 0 ? T{1} : static_cast<T>(std::min(1.0, op.clip / (*norm + 1e-6)));
  if (!std::isfinite(*norm)) *factor = program::kSkipStep;
}

template <std::floating_point T>
void adamw(device::Stream&, const program::AdamW& op, const Arguments& arguments) {
  T* parameter = arguments.pointer<T>(op.kParameter);
  const T* gradient = arguments.pointer<const T>(op.kGradient);
  T* m = arguments.pointer<T>(op.kM);
  T* v = arguments.pointer<T>(op.kV);
  const double factor = *arguments.pointer<const T>(op.kFactor);
  if (factor == program::kSkipStep) return;
  const double rate = *arguments.pointer<const T>(op.kRate);
  const auto step = static_cast<double>(*arguments.pointer<const int64_t>(op.kStep));
  const double correction1 = 1 - std::pow(op.beta1, step);
  const double correction2 = 1 - std::pow(op.beta2, step);
  for (int64_t i = 0; i < op.elements; ++i) {
    const double g = gradient[i] * factor;
    const double new_m = op.beta1 * m[i] + (1 - op.beta1) * g;
    const double new_v = op.beta2 * v[i] + (1 - op.beta2) * g * g;
    const double direction = (new_m / correction1) / (std::sqrt(new_v / correction2) + op.epsilon);
    parameter[i] = static_cast<T>(parameter[i] - rate * (direction + op.decay * parameter[i]));
    m[i] = static_cast<T>(new_m);
    v[i] = static_cast<T>(new_v);
  }
}

}  // namespace

template <std::floating_point T>
void add_optimizer(KernelTable& table) {
  entry<program::SquareSums, square_sums<T>>(table);
  entry<program::ClipFactor, clip_factor<T>>(table);
  entry<program::AdamW, adamw<T>>(table);
}
template void add_optimizer<float>(KernelTable&);
template void add_optimizer<double>(KernelTable&);

}  // namespace trireme::ops::reference
