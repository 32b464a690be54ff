#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ops/reference/wide_op.h"

namespace trireme::ops::reference {
namespace {

using program::BiasDropoutAdd;
using program::BiasGelu;
using program::BiasGeluBackward;
using program::BiasGradient;
using program::DropoutBackward;

TEST(BiasGelu, IsTheTanhFormOfGpt2) {
  WideOp gelu({.op = BiasGelu{.rows = 1, .columns = 4}});
  gelu[BiasGelu::kX] = {0, 1, -2, 30};
  gelu[BiasGelu::kBias] = {0, 0, 1, 0};
  gelu.run();
  // 0.5 z (1 + tanh(0.79788456 (z + 0.044715 z^3))): tanh(0.83356191) = 0.68238398
  EXPECT_EQ(gelu[BiasGelu::kY][0], 0);
  EXPECT_NEAR(gelu[BiasGelu::kY][1], 0.84119199, 1e-8);
  EXPECT_NEAR(gelu[BiasGelu::kY][2], -0.15880801, 1e-8);
  EXPECT_EQ(gelu[BiasGelu::kY][3], 30);
}

TEST(BiasGeluBackward, EqualsFiniteDifferences) {
  constexpr int64_t kRows = 6;
  constexpr int64_t kColumns = 11;
  WideOp forward({.op = BiasGelu{.rows = kRows, .columns = kColumns}});
  const std::vector<double> weights = loss_weights(kRows * kColumns);
  const auto loss = [&] {
    forward.run();
    return weighted_sum(weights, forward[BiasGelu::kY]);
  };
  WideOp dx({.op = BiasGeluBackward{.rows = kRows, .columns = kColumns}});
  dx[BiasGeluBackward::kDy] = weights;
  dx[BiasGeluBackward::kX] = forward[BiasGelu::kX];
  dx[BiasGeluBackward::kBias] = forward[BiasGelu::kBias];
  dx.run();
  expect_gradient(dx[BiasGeluBackward::kDx], numerical_gradient(forward[BiasGelu::kX], loss), "dx");
  WideOp dbias({.op = BiasGradient{.rows = kRows, .columns = kColumns}});
  dbias[BiasGradient::kDy] = dx[BiasGeluBackward::kDx];
  dbias.run();
  expect_gradient(dbias[BiasGradient::kDbias], numerical_gradient(forward[BiasGelu::kBias], loss),
                  "dbias");
}

TEST(BiasDropoutAddGradients, EqualFiniteDifferences) {
  constexpr int64_t kLength = 4;
  constexpr int64_t kSequences = 3;
  constexpr int64_t kHidden = 5;
  const program::Dropout dropout{.site = RandomSite::mlp_dropout, .probability = 0.4};
  WideOp forward(
      {.op =
           BiasDropoutAdd{
               .length = kLength, .sequences = kSequences, .hidden = kHidden, .dropout = dropout},
       .layer = 9});
  const std::vector<double> weights = loss_weights(kLength * kSequences * kHidden);
  const auto loss = [&] {
    forward.run();
    return weighted_sum(weights, forward[BiasDropoutAdd::kY]);
  };
  WideOp dx(
      {.op =
           DropoutBackward{
               .length = kLength, .sequences = kSequences, .hidden = kHidden, .dropout = dropout},
       .layer = 9});
  dx[DropoutBackward::kDy] = weights;
  dx.run();
  expect_gradient(dx[DropoutBackward::kDx], numerical_gradient(forward[BiasDropoutAdd::kX], loss),
                  "dx");
  expect_gradient(weights, numerical_gradient(forward[BiasDropoutAdd::kResidual], loss),
                  "dresidual");
  WideOp dbias({.op = BiasGradient{.rows = kLength * kSequences, .columns = kHidden}});
  dbias[BiasGradient::kDy] = dx[DropoutBackward::kDx];
  dbias.run();
  expect_gradient(dbias[BiasGradient::kDbias],
                  numerical_gradient(forward[BiasDropoutAdd::kBias], loss), "dbias");
}

// Dropout of ones: what is kept and what it becomes.
struct Ones {
  int64_t length = 16;
  int64_t hidden = 6;
  double probability = 0.25;
  RandomSite site = RandomSite::mlp_dropout;
  uint32_t layer = 1;
  int32_t seed = 1234;
  std::vector<int64_t> samples = {40};

  [[nodiscard]] std::vector<double> dropped() const {
    WideOp op({.op = DropoutBackward{.length = length,
                                     .sequences = static_cast<int64_t>(samples.size()),
                                     .hidden = hidden,
                                     .dropout = {.site = site, .probability = probability}},
               .layer = layer});
    std::fill(op[DropoutBackward::kDy].begin(), op[DropoutBackward::kDy].end(), 1.0);
    op.as<int32_t>(DropoutBackward::kSeed)[0] = seed;
    std::copy(samples.begin(), samples.end(), op.as<int64_t>(DropoutBackward::kSamples).begin());
    op.run();
    return op[DropoutBackward::kDx];
  }
};

TEST(Dropout, KeepsTheRightShareAndTheExpectedValue) {
  for (const double p : {0.1, 0.5, 0.9}) {
    const std::vector<double> y =
        Ones{.length = 64, .hidden = 770, .probability = p, .samples = {3, 4}}.dropped();
    const auto count = static_cast<double>(y.size());
    double kept = 0;
    double sum = 0;
    for (const double value : y) {
      EXPECT_TRUE(value == 0 || value == static_cast<double>(static_cast<float>(1 / (1 - p))));
      kept += value != 0 ? 1 : 0;
      sum += value;
    }
    EXPECT_NEAR(kept / count, 1 - p, 4 * std::sqrt(p * (1 - p) / count));
    EXPECT_NEAR(sum / count, 1, 4 * std::sqrt(p / (1 - p) / count));
  }
  const std::vector<double> all = Ones{.probability = 0}.dropped();
  EXPECT_EQ(std::count(all.begin(), all.end(), 1.0), static_cast<int64_t>(all.size()));
}

TEST(Dropout, FollowsTheRandomFormat) {
  const Ones ones{.length = 9, .hidden = 6, .samples = {5, (int64_t{1} << 39) + 7}};
  const std::vector<double> y = ones.dropped();
  for (uint64_t position = 0; position < 9; ++position) {
    for (uint64_t sequence = 0; sequence < 2; ++sequence) {
      for (uint64_t column = 0; column < 6; ++column) {
        // Rows of 6 start at multiples of 8: the innermost extent is rounded up to blocks of 4.
        const RandomStream stream{.seed = 1234,
                                  .site = RandomSite::mlp_dropout,
                                  .layer = 1,
                                  .sample = static_cast<uint64_t>(ones.samples[sequence])};
        const bool kept = stream.bits(position * 8 + column) >= 0x40000000U;
        EXPECT_EQ(y[(position * 2 + sequence) * 6 + column] != 0, kept);
      }
    }
  }
}

TEST(Dropout, OfASampleDoesNotDependOnItsPlaceInTheBatch) {
  const std::vector<double> three = Ones{.samples = {7, 8, 9}}.dropped();
  const std::vector<double> alone = Ones{.samples = {8}}.dropped();
  for (size_t position = 0; position < 16; ++position) {
    for (size_t column = 0; column < 6; ++column) {
      EXPECT_EQ(three[(position * 3 + 1) * 6 + column], alone[position * 6 + column]);
    }
  }
}

TEST(Dropout, DiffersBySeedSiteLayerAndSample) {
  const std::vector<double> base = Ones{}.dropped();
  EXPECT_EQ(base, Ones{}.dropped());
  EXPECT_NE(base, (Ones{.seed = 1235}.dropped()));
  EXPECT_NE(base, (Ones{.site = RandomSite::projection_dropout}.dropped()));
  EXPECT_NE(base, (Ones{.layer = 2}.dropped()));
  EXPECT_NE(base, (Ones{.samples = {41}}.dropped()));
}

}  // namespace
}  // namespace trireme::ops::reference
