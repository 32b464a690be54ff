#include <gtest/gtest.h>

#include <algorithm>

#include "ops/reference/wide_op.h"

namespace trireme::ops::reference {
namespace {

using program::DropoutBackward;
using program::EmbeddingGradient;
using program::EmbeddingLookup;
using program::PositionDropout;
using program::PositionGradient;

TEST(EmbeddingLookup, OfTwoShardsAddsUpToTheWholeTable) {
  constexpr int64_t kHidden = 3;
  testing::Case c{.op = EmbeddingLookup{.tokens = 40, .hidden = kHidden, .rows = 10},
                  .id_limit = 10};
  WideOp whole(c);
  const std::vector<double> table = whole[EmbeddingLookup::kTable];
  whole.run();
  std::vector<double> sum(40 * kHidden, 0.0);
  for (const int64_t first : {0, 6}) {
    const int64_t rows = first == 0 ? 6 : 4;
    c.op = EmbeddingLookup{.tokens = 40, .hidden = kHidden, .rows = rows, .first_row = first};
    WideOp shard(c);
    shard[EmbeddingLookup::kTable].assign(table.begin() + first * kHidden,
                                          table.begin() + (first + rows) * kHidden);
    shard.run();
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += shard[EmbeddingLookup::kY][i];
  }
  EXPECT_EQ(sum, whole[EmbeddingLookup::kY]);
}

TEST(EmbeddingGradient, EqualsFiniteDifferences) {
  for (const int64_t first : {0, 3}) {
    constexpr int64_t kTokens = 12;
    constexpr int64_t kHidden = 4;
    WideOp forward(
        {.op = EmbeddingLookup{.tokens = kTokens, .hidden = kHidden, .rows = 5, .first_row = first},
         .id_limit = 8});
    const std::vector<double> weights = loss_weights(kTokens * kHidden);
    const auto loss = [&] {
      forward.run();
      return weighted_sum(weights, forward[EmbeddingLookup::kY]);
    };
    WideOp backward(
        {.op =
             EmbeddingGradient{.tokens = kTokens, .hidden = kHidden, .rows = 5, .first_row = first},
         .id_limit = 8});
    backward[EmbeddingGradient::kDy] = weights;
    backward.run();
    expect_gradient(backward[EmbeddingGradient::kDtable],
                    numerical_gradient(forward[EmbeddingLookup::kTable], loss), "dtable");
  }
}

TEST(PositionGradients, EqualFiniteDifferencesThroughTheDropout) {
  constexpr int64_t kLength = 5;
  constexpr int64_t kSequences = 2;
  constexpr int64_t kHidden = 6;
  const program::Dropout dropout{.site = RandomSite::embedding_dropout, .probability = 0.3};
  WideOp forward({.op = PositionDropout{.length = kLength,
                                        .sequences = kSequences,
                                        .hidden = kHidden,
                                        .rows = 4,
                                        .dropout = dropout},
                  .id_limit = 4});
  const std::vector<double> weights = loss_weights(kLength * kSequences * kHidden);
  const auto loss = [&] {
    forward.run();
    return weighted_sum(weights, forward[PositionDropout::kY]);
  };
  WideOp dx(
      {.op = DropoutBackward{
           .length = kLength, .sequences = kSequences, .hidden = kHidden, .dropout = dropout}});
  dx[DropoutBackward::kDy] = weights;
  dx.run();
  expect_gradient(dx[DropoutBackward::kDx], numerical_gradient(forward[PositionDropout::kX], loss),
                  "dx");

  WideOp dtable(
      {.op = PositionGradient{.tokens = kLength * kSequences, .hidden = kHidden, .rows = 4},
       .id_limit = 4});
  const auto positions = forward.as<int32_t>(PositionDropout::kPositions);
  std::copy(positions.begin(), positions.end(),
            dtable.as<int32_t>(PositionGradient::kPositions).begin());
  dtable[PositionGradient::kDx] = dx[DropoutBackward::kDx];
  dtable.run();
  expect_gradient(dtable[PositionGradient::kDtable],
                  numerical_gradient(forward[PositionDropout::kTable], loss), "dtable");
}

}  // namespace
}  // namespace trireme::ops::reference
