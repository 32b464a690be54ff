#include <cmath>

#include "ops/cpu/blocks.h"
#include "ops/cpu/cpu.h"
#include "ops/cpu/targets.h"
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/cpu/optimizer.cpp"
#include <hwy/foreach_target.h>
#include "ops/cpu/vector_inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace trireme::ops::cpu {
namespace HWY_NAMESPACE {

double square_sum(const float* x, int64_t n) {
  using Doubles = hn::ScalableTag<double>;
  constexpr Doubles kDoubles;
  constexpr hn::Rebind<float, Doubles> kHalves;
  constexpr auto kStep = static_cast<int64_t>(hn::MaxLanes(Doubles()));
  const auto square = [&](const float* at, hn::Vec<Doubles> sum) HWY_ATTR {
    const auto v = hn::PromoteTo(kDoubles, hn::LoadU(kHalves, at));
    return hn::MulAdd(v, v, sum);
  };
  auto sum0 = hn::Zero(kDoubles);
  auto sum1 = hn::Zero(kDoubles);
  auto sum2 = hn::Zero(kDoubles);
  auto sum3 = hn::Zero(kDoubles);
  int64_t i = 0;
  for (; i + 4 * kStep <= n; i += 4 * kStep) {
    sum0 = square(x + i, sum0);
    sum1 = square(x + i + kStep, sum1);
    sum2 = square(x + i + 2 * kStep, sum2);
    sum3 = square(x + i + 3 * kStep, sum3);
  }
  const auto sum = hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3));
  double total = hn::GetLane(hn::SumOfLanes(kDoubles, sum));
  for (; i < n; ++i) total += double{x[i]} * double{x[i]};
  return total;
}

HWY_INLINE FloatVector constant(double value) {
  return hn::Set(kFloats, static_cast<float>(value));
}

void adamw_range(const program::AdamW& op, const Arguments& arguments, int64_t first,
                 int64_t last) {
  float* parameter = arguments.pointer<float>(op.kParameter) + first;
  const float* gradient = arguments.pointer<const float>(op.kGradient) + first;
  float* m = arguments.pointer<float>(op.kM) + first;
  float* v = arguments.pointer<float>(op.kV) + first;
  const auto step = static_cast<double>(*arguments.pointer<const int64_t>(op.kStep));
  const FloatVector factor = hn::Set(kFloats, *arguments.pointer<const float>(op.kFactor));
  const FloatVector beta1 = constant(op.beta1);
  const FloatVector rest1 = constant(1 - op.beta1);
  const FloatVector beta2 = constant(op.beta2);
  const FloatVector rest2 = constant(1 - op.beta2);
  const FloatVector inverse1 = constant(1 / (1 - std::pow(op.beta1, step)));
  const FloatVector inverse2 = constant(1 / (1 - std::pow(op.beta2, step)));
  const FloatVector epsilon = constant(op.epsilon);
  const FloatVector rate = hn::Set(kFloats, *arguments.pointer<const float>(op.kRate));
  const FloatVector decay = constant(op.decay);
  over_row(last - first, [&](auto lanes, int64_t i) HWY_ATTR {
    const FloatVector g = hn::Mul(lanes.load(gradient + i), factor);
    const FloatVector new_m = hn::MulAdd(beta1, lanes.load(m + i), hn::Mul(rest1, g));
    const FloatVector new_v = hn::MulAdd(beta2, lanes.load(v + i), hn::Mul(hn::Mul(rest2, g), g));
    const FloatVector p = lanes.load(parameter + i);
    const FloatVector root = hn::Sqrt(hn::Mul(new_v, inverse2));
    const FloatVector direction = hn::Div(hn::Mul(new_m, inverse1), hn::Add(root, epsilon));
    lanes.store(new_m, m + i);
    lanes.store(new_v, v + i);
    lanes.store(hn::NegMulAdd(rate, hn::MulAdd(decay, p, direction), p), parameter + i);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace trireme::ops::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trireme::ops::cpu {
namespace {

HWY_EXPORT(square_sum);
HWY_EXPORT(adamw_range);

void square_sums(device::Stream& stream, const program::SquareSums& op,
                 const Arguments& arguments) {
  const auto* gradient = arguments.pointer<const float>(op.kGradient);
  double* squares = arguments.pointer<double>(op.kSquares) + op.first_block;
  over_blocks(stream, op.elements, program::kNormBlock, [&](int64_t first, int64_t last) {
    squares[first / program::kNormBlock] =
        HWY_DYNAMIC_DISPATCH(square_sum)(gradient + first, last - first);
  });
}

void clip_factor(device::Stream&, const program::ClipFactor& op, const Arguments& arguments) {
  const auto* squares = arguments.pointer<const double>(op.kSquares);
  const double norm = std::sqrt(op.sum(squares));
  *arguments.pointer<double>(op.kNorm) = norm;
  float& factor = *arguments.pointer<float>(op.kFactor);
  factor = op.clip == 0 ? 1.0F : static_cast<float>(std::min(1.0, op.clip / (norm + 1e-6)));
  if (!std::isfinite(norm)) factor = program::kSkipStep;
}

void adamw(device::Stream& stream, const program::AdamW& op, const Arguments& arguments) {
  if (*arguments.pointer<const float>(op.kFactor) == program::kSkipStep) return;
  over_blocks(stream, op.elements, kBlockElements, [&](int64_t first, int64_t last) {
    HWY_DYNAMIC_DISPATCH(adamw_range)(op, arguments, first, last);
  });
}

}  // namespace

void add_optimizer(KernelTable& table) {
  entry<program::SquareSums, square_sums>(table);
  entry<program::ClipFactor, clip_factor>(table);
  entry<program::AdamW, adamw>(table);
}

}  // namespace trireme::ops::cpu
#endif
