#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "ops/reference/wide_op.h"

namespace trireme::ops::reference {
namespace {

using program::AdamW;
using program::ClipFactor;
using program::kNormBlock;
using program::SquareSums;

TEST(SquareSums, FillsItsOwnBlocksAndNoOthers) {
  WideOp sums({.op = SquareSums{.elements = kNormBlock + 2, .first_block = 1, .blocks = 4}});
  std::vector<double>& gradient = sums[SquareSums::kGradient];
  std::iota(gradient.begin(), gradient.end(), 0.0);
  const auto squares = sums.as<double>(SquareSums::kSquares);
  std::fill(squares.begin(), squares.end(), -1.0);
  sums.run();
  constexpr double n = kNormBlock;
  EXPECT_EQ(squares[0], -1);
  EXPECT_DOUBLE_EQ(squares[1], (n - 1) * n * (2 * n - 1) / 6);
  EXPECT_DOUBLE_EQ(squares[2], n * n + (n + 1) * (n + 1));
  EXPECT_EQ(squares[3], -1);
}

TEST(ClipFactor, ScalesTheNormDownToTheLimitAndNeverUp) {
  struct Row {
    double clip;
    double factor;
  };
  for (const Row row : {Row{1, 1 / (5 + 1e-6)}, Row{4.5, 4.5 / (5 + 1e-6)}, Row{7, 1}, Row{0, 1}}) {
    WideOp clip({.op = ClipFactor{.blocks = 3, .clip = row.clip}});
    const auto squares = clip.as<double>(ClipFactor::kSquares);
    squares[0] = 9;
    squares[1] = 4;
    squares[2] = 12;
    clip.run();
    EXPECT_EQ(clip.as<double>(ClipFactor::kNorm)[0], 5);
    EXPECT_EQ(clip[ClipFactor::kFactor][0], row.factor);
  }
}

TEST(ClipFactor, AddsInTheOrderOfTheTable) {
  // So that the bits show it: 1 is lost behind 2^60, not in front of its negative.
  constexpr std::array<program::SquareRun, 2> kOrder = {{{2, 1}, {0, 2}}};
  WideOp clip({.op = ClipFactor{.blocks = 3, .clip = 0, .order = kOrder}});
  const auto squares = clip.as<double>(ClipFactor::kSquares);
  squares[0] = -0x1p60;
  squares[1] = 1;
  squares[2] = 0x1p60;
  clip.run();
  EXPECT_EQ(clip.as<double>(ClipFactor::kNorm)[0], 1);
}

TEST(ClipFactor, SaysThatAStepIsNotTakenWhereTheNormIsNotFinite) {
  for (const double limit : {0.0, 1.0}) {
    for (const double bad :
         {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
      WideOp clip({.op = ClipFactor{.blocks = 2, .clip = limit}});
      clip.as<double>(ClipFactor::kSquares)[1] = bad;
      clip.run();
      EXPECT_EQ(clip[ClipFactor::kFactor][0], program::kSkipStep);
      EXPECT_FALSE(std::isfinite(clip.as<double>(ClipFactor::kNorm)[0]));
    }
  }
}

TEST(AdamW, ChangesNothingInAStepThatIsNotTaken) {
  WideOp adam({.op = AdamW{.elements = 2, .decay = 0.1}});
  adam[AdamW::kParameter] = {2, -1};
  adam[AdamW::kM] = {0.5, 0.25};
  adam[AdamW::kV] = {1, 3};
  adam[AdamW::kGradient] = {std::numeric_limits<double>::quiet_NaN(), 1};
  adam[AdamW::kFactor] = {program::kSkipStep};
  adam[AdamW::kRate] = {0.5};
  adam.as<int64_t>(AdamW::kStep)[0] = 1;
  adam.run();
  EXPECT_EQ(adam[AdamW::kParameter], (std::vector<double>{2, -1}));
  EXPECT_EQ(adam[AdamW::kM], (std::vector<double>{0.5, 0.25}));
  EXPECT_EQ(adam[AdamW::kV], (std::vector<double>{1, 3}));
}

TEST(AdamW, TakesStepsAsWrittenOutByHand) {
  const AdamW op{.elements = 2, .beta1 = 0.5, .beta2 = 0.75, .epsilon = 0.25, .decay = 0.125};
  WideOp adam({.op = op});
  adam[AdamW::kParameter] = {2, -1};
  adam[AdamW::kM] = {0, 0};
  adam[AdamW::kV] = {0, 0};
  adam[AdamW::kFactor] = {0.5};
  adam[AdamW::kRate] = {0.5};
  const auto step = adam.as<int64_t>(AdamW::kStep);

  // Step 1: g = 1, -2; m = 1/2, -1; v = 1/4, 1; unbiased 1, -2 and 1, 4.
  adam[AdamW::kGradient] = {2, -4};
  step[0] = 1;
  adam.run();
  EXPECT_EQ(adam[AdamW::kM], (std::vector<double>{0.5, -1}));
  EXPECT_EQ(adam[AdamW::kV], (std::vector<double>{0.25, 1}));
  const double first = 2 - 0.5 * (1 / 1.25 + 0.125 * 2);
  const double second = -1 - 0.5 * (-2 / 2.25 - 0.125);
  EXPECT_DOUBLE_EQ(adam[AdamW::kParameter][0], first);
  EXPECT_DOUBLE_EQ(adam[AdamW::kParameter][1], second);

  // Step 2: g = 0, 3; m = 1/4, 1; v = 3/16, 3; corrections 3/4 and 7/16.
  adam[AdamW::kGradient] = {0, 6};
  step[0] = 2;
  adam.run();
  EXPECT_EQ(adam[AdamW::kM], (std::vector<double>{0.25, 1}));
  EXPECT_EQ(adam[AdamW::kV], (std::vector<double>{0.1875, 3}));
  EXPECT_DOUBLE_EQ(
      adam[AdamW::kParameter][0],
      first - 0.5 * ((0.25 / 0.75) / (std::sqrt(0.1875 / 0.4375) + 0.25) + 0.125 * first));
  EXPECT_DOUBLE_EQ(adam[AdamW::kParameter][1],
                   second - 0.5 * ((1 / 0.75) / (std::sqrt(3 / 0.4375) + 0.25) + 0.125 * second));
}

TEST(AdamW, DecaysByTheRateAloneWhereThereIsNoGradient) {
  WideOp adam({.op = AdamW{.elements = 1, .decay = 0.1}});
  adam[AdamW::kParameter] = {3};
  adam[AdamW::kGradient] = {0};
  adam[AdamW::kM] = {0};
  adam[AdamW::kV] = {0};
  adam[AdamW::kRate] = {0.01};
  adam.run();
  EXPECT_DOUBLE_EQ(adam[AdamW::kParameter][0], 3 * (1 - 0.01 * 0.1));
}

}  // namespace
}  // namespace trireme::ops::reference
