#include "ops/reference/wide_op.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/random.h"
#include "ops/reference/reference.h"

namespace trireme::ops::reference {

WideOp::WideOp(const testing::Case& c) : case_(c), others_(testing::inputs_of(c)) {
  for (int i = 0; i < others_.count(); ++i) {
    if (others_.declared()[static_cast<size_t>(i)].dtype != DType::f32) continue;
    const auto values = others_.as<float>(i);
    floats_[i].assign(values.begin(), values.end());
  }
}

void WideOp::run() {
  std::vector<void*> operands = others_.addresses();
  for (auto& [operand, values] : floats_) {
    operands[static_cast<size_t>(operand)] = values.empty() ? nullptr : values.data();
  }
  device::Stream stream;
  reference_kernels_in_double()[case_.op](
      stream, case_.op,
      {.operands = operands, .layer = case_.layer, .accumulate = case_.accumulate});
}

std::vector<double> loss_weights(size_t count) {
  const RandomStream stream{.seed = 77, .site = RandomSite::init_fc2};
  std::vector<double> weights(count);
  for (size_t i = 0; i < count; ++i) weights[i] = normal(stream, i);
  return weights;
}

double weighted_sum(const std::vector<double>& weights, const std::vector<double>& y) {
  double sum = 0;
  for (size_t i = 0; i < y.size(); ++i) sum += weights.at(i) * y[i];
  return sum;
}

std::vector<double> numerical_gradient(std::vector<double>& variable,
                                       const std::function<double()>& loss) {
  constexpr double kStep = 1e-3;
  std::vector<double> gradient(variable.size());
  for (size_t i = 0; i < variable.size(); ++i) {
    const double here = variable[i];
    const auto at = [&](double distance) {
      variable[i] = here + distance;
      return loss();
    };
    gradient[i] = (8 * (at(kStep) - at(-kStep)) - (at(2 * kStep) - at(-2 * kStep))) / (12 * kStep);
    variable[i] = here;
  }
  return gradient;
}

void expect_gradient(const std::vector<double>& actual, const std::vector<double>& numerical,
                     const std::string& what) {
  ASSERT_EQ(actual.size(), numerical.size()) << what;
  double squares = 0;
  for (const double g : numerical) squares += g * g;
  const double rms = std::sqrt(squares / static_cast<double>(numerical.size()));
  EXPECT_GT(rms, 1e-3) << what << ": the loss does not depend on it, the test is void";
  for (size_t i = 0; i < actual.size(); ++i) {
    EXPECT_NEAR(actual[i], numerical[i], 1e-8 * std::max(rms, std::abs(numerical[i])))
        << what << "[" << i << "]";
  }
}

}  // namespace trireme::ops::reference
