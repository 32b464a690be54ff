#include <gtest/gtest.h>

#include <cmath>

#include "ops/reference/wide_op.h"

namespace trireme::ops::reference {
namespace {

using program::LayerNorm;
using program::LayerNormBackward;
using program::LayerNormGradient;

TEST(LayerNorm, MakesRowsOfMeanZeroAndVarianceOneBeforeGammaAndBeta) {
  constexpr int64_t kColumns = 50;
  WideOp norm({.op = LayerNorm{.rows = 3, .columns = kColumns, .epsilon = 0}});
  norm[LayerNorm::kGamma].assign(kColumns, 2);
  norm[LayerNorm::kBeta].assign(kColumns, 5);
  norm.run();
  for (size_t row = 0; row < 3; ++row) {
    double mean = 0;
    double variance = 0;
    for (size_t c = 0; c < kColumns; ++c) mean += norm[LayerNorm::kY][row * kColumns + c];
    mean /= kColumns;
    for (size_t c = 0; c < kColumns; ++c) {
      const double centred = norm[LayerNorm::kY][row * kColumns + c] - mean;
      variance += centred * centred / kColumns;
    }
    EXPECT_NEAR(mean, 5, 1e-13);
    EXPECT_NEAR(variance, 4, 1e-13);
  }
}

TEST(LayerNorm, KeepsTheMeanAndTheInverseDeviation) {
  WideOp norm({.op = LayerNorm{.rows = 1, .columns = 4, .epsilon = 0.75}});
  norm[LayerNorm::kX] = {1, 2, 3, 4};  // mean 2.5, variance 1.25
  norm.run();
  EXPECT_DOUBLE_EQ(norm[LayerNorm::kMean][0], 2.5);
  EXPECT_DOUBLE_EQ(norm[LayerNorm::kRstd][0], 1 / std::sqrt(2.0));
}

class LayerNormGradients : public ::testing::TestWithParam<bool> {};

TEST_P(LayerNormGradients, EqualFiniteDifferences) {
  const bool residual = GetParam();
  constexpr int64_t kRows = 4;
  constexpr int64_t kColumns = 9;
  WideOp forward({.op = LayerNorm{.rows = kRows, .columns = kColumns, .epsilon = 0.1}});
  const std::vector<double> weights = loss_weights(kRows * kColumns);
  const std::vector<double> past = loss_weights(2 * kRows * kColumns);  // weights of x itself
  const std::vector<double> past_norm(past.end() - kRows * kColumns, past.end());
  const auto loss = [&] {
    forward.run();
    return weighted_sum(weights, forward[LayerNorm::kY]) +
           (residual ? weighted_sum(past_norm, forward[LayerNorm::kX]) : 0);
  };
  loss();

  WideOp dx({.op = LayerNormBackward{.rows = kRows, .columns = kColumns, .residual = residual}});
  dx[LayerNormBackward::kDy] = weights;
  dx[LayerNormBackward::kX] = forward[LayerNorm::kX];
  dx[LayerNormBackward::kGamma] = forward[LayerNorm::kGamma];
  dx[LayerNormBackward::kMean] = forward[LayerNorm::kMean];
  dx[LayerNormBackward::kRstd] = forward[LayerNorm::kRstd];
  if (residual) dx[LayerNormBackward::kDresidual] = past_norm;
  dx.run();

  WideOp dw({.op = LayerNormGradient{.rows = kRows, .columns = kColumns}});
  dw[LayerNormGradient::kDy] = weights;
  dw[LayerNormGradient::kX] = forward[LayerNorm::kX];
  dw[LayerNormGradient::kMean] = forward[LayerNorm::kMean];
  dw[LayerNormGradient::kRstd] = forward[LayerNorm::kRstd];
  dw.run();

  expect_gradient(dx[LayerNormBackward::kDx], numerical_gradient(forward[LayerNorm::kX], loss),
                  "dx");
  expect_gradient(dw[LayerNormGradient::kDgamma],
                  numerical_gradient(forward[LayerNorm::kGamma], loss), "dgamma");
  expect_gradient(dw[LayerNormGradient::kDbeta],
                  numerical_gradient(forward[LayerNorm::kBeta], loss), "dbeta");
}

INSTANTIATE_TEST_SUITE_P(WithAndWithoutResidual, LayerNormGradients, ::testing::Bool());

}  // namespace
}  // namespace trireme::ops::reference
