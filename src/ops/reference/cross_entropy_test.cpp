#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ops/reference/wide_op.h"

namespace trireme::ops::reference {
namespace {

using program::CrossEntropy;
using program::LogitMaximum;
using program::LogitSum;
using program::LossTotal;
using program::VocabSizes;

constexpr int64_t kRows = 5;
constexpr int64_t kWords = 11;
constexpr double kScale = 0.25;

// Cross entropy over shards of the vocabulary, reduced by hand as the all-reduces would.
class ShardedLoss {
 public:
  explicit ShardedLoss(std::vector<VocabSizes> shards) : shards_(std::move(shards)) {
    for (const VocabSizes& shard : shards_) {
      logits.emplace_back(static_cast<size_t>(shard.rows * shard.columns), 1000.0);  // padding
      for (int64_t row = 0; row < shard.rows; ++row) {
        for (int64_t c = 0; c < shard.counted; ++c) {
          logits.back()[static_cast<size_t>(row * shard.columns + c)] =
              3 * random_[static_cast<size_t>(row * kWords + shard.first_row + c)];
        }
      }
    }
  }

  // Losses of all rows; with gradient, gradients[k] become those of logits[k].
  std::vector<double> run(bool gradient) {
    std::vector<double> maximum(kRows, -INFINITY);
    for (size_t k = 0; k < shards_.size(); ++k) {
      WideOp op({.op = LogitMaximum{shards_[k]}});
      op[LogitMaximum::kLogits] = logits[k];
      op.run();
      for (size_t i = 0; i < kRows; ++i) {
        maximum[i] = std::max(maximum[i], op[LogitMaximum::kMaximum][i]);
      }
    }
    std::vector<double> sum(kRows, 0.0);
    std::vector<double> target(kRows, 0.0);
    for (size_t k = 0; k < shards_.size(); ++k) {
      WideOp op({.op = LogitSum{shards_[k]}, .id_limit = kWords});
      op[LogitSum::kLogits] = logits[k];
      std::copy(labels.begin(), labels.end(), op.as<int32_t>(LogitSum::kLabels).begin());
      op[LogitSum::kMaximum] = maximum;
      op.run();
      for (size_t i = 0; i < kRows; ++i) {
        sum[i] += op[LogitSum::kSum][i];
        target[i] += op[LogitSum::kTarget][i];
      }
    }
    std::vector<double> losses;
    gradients.clear();
    for (size_t k = 0; k < shards_.size(); ++k) {
      WideOp op({.op = CrossEntropy{shards_[k], gradient}, .id_limit = kWords});
      op[CrossEntropy::kLogits] = logits[k];
      std::copy(labels.begin(), labels.end(), op.as<int32_t>(CrossEntropy::kLabels).begin());
      op[CrossEntropy::kLossMask] = loss_mask;
      op[CrossEntropy::kMaximum] = maximum;
      op[CrossEntropy::kSum] = sum;
      op[CrossEntropy::kTarget] = target;
      op[CrossEntropy::kGradientScale] = {kScale};
      op.run();
      EXPECT_TRUE(k == 0 || op[CrossEntropy::kLosses] == losses) << "ranks disagree";
      losses = op[CrossEntropy::kLosses];
      gradients.push_back(op[CrossEntropy::kLogits]);
    }
    return losses;
  }

  // What the gradient is of.
  double scaled_total() {
    const std::vector<double> losses = run(false);
    double sum = 0;
    for (size_t i = 0; i < kRows; ++i) sum += losses[i] * loss_mask[i] * kScale;
    return sum;
  }

  std::vector<int32_t> labels = {3, 10, 0, 7, 6};
  std::vector<double> loss_mask = {1, 1, 0, 0.5, 1};
  std::vector<std::vector<double>> logits;
  std::vector<std::vector<double>> gradients;

 private:
  std::vector<double> random_ = loss_weights(kRows * kWords);
  std::vector<VocabSizes> shards_;
};

VocabSizes whole() {
  return {.rows = kRows, .columns = 16, .counted = kWords};
}
std::vector<VocabSizes> two_shards_and_one_of_padding() {
  // The label 7 is a word of the second, and would be a padding column of the first.
  return {{.rows = kRows, .columns = 9, .counted = 7},
          {.rows = kRows, .columns = 7, .counted = 4, .first_row = 7},
          {.rows = kRows, .columns = 7, .counted = 0, .first_row = 14}};
}

TEST(CrossEntropy, LossesAreMinusTheLogarithmOfTheSoftmax) {
  ShardedLoss loss({whole()});
  const std::vector<double> losses = loss.run(true);
  for (size_t row = 0; row < kRows; ++row) {
    double sum = 0;
    for (size_t c = 0; c < kWords; ++c) sum += std::exp(loss.logits[0][row * 16 + c]);
    const double p = std::exp(loss.logits[0][row * 16 + static_cast<size_t>(loss.labels[row])]);
    EXPECT_NEAR(losses[row], -std::log(p / sum), 1e-13);
  }
}

TEST(CrossEntropy, GradientEqualsFiniteDifferences) {
  ShardedLoss loss({whole()});
  loss.run(true);
  const std::vector<double> gradient = loss.gradients[0];
  expect_gradient(gradient, numerical_gradient(loss.logits[0], [&] { return loss.scaled_total(); }),
                  "dlogits");
}

TEST(CrossEntropy, GradientIsExactlyZeroInPaddingAndMaskedRowsAndSumsToZero) {
  ShardedLoss loss({whole()});
  loss.run(true);
  for (size_t row = 0; row < kRows; ++row) {
    double sum = 0;
    for (size_t c = 0; c < 16; ++c) {
      const double g = loss.gradients[0][row * 16 + c];
      EXPECT_TRUE(g == 0 || (c < kWords && loss.loss_mask[row] != 0)) << row << ", " << c;
      sum += g;
    }
    EXPECT_NEAR(sum, 0, 1e-15);
  }
}

TEST(CrossEntropy, OverShardsEqualsTheWhole) {
  ShardedLoss one({whole()});
  const std::vector<double> losses = one.run(true);
  ShardedLoss shards(two_shards_and_one_of_padding());
  const std::vector<double> shard_losses = shards.run(true);
  for (size_t row = 0; row < kRows; ++row) {
    EXPECT_NEAR(shard_losses[row], losses[row], 1e-14);
    for (size_t c = 0; c < kWords; ++c) {
      const double got =
          c < 7 ? shards.gradients[0][row * 9 + c] : shards.gradients[1][row * 7 + c - 7];
      EXPECT_NEAR(got, one.gradients[0][row * 16 + c], 1e-15);
    }
    EXPECT_EQ(shards.gradients[0][row * 9 + 7], 0);
    EXPECT_EQ(shards.gradients[0][row * 9 + 8], 0);
  }
  EXPECT_EQ(shards.gradients[2], std::vector<double>(kRows * 7, 0.0));
}

TEST(CrossEntropy, GradientOfAShardEqualsFiniteDifferences) {
  ShardedLoss shards(two_shards_and_one_of_padding());
  shards.run(true);
  const std::vector<double> gradient = shards.gradients[1];
  expect_gradient(gradient,
                  numerical_gradient(shards.logits[1], [&] { return shards.scaled_total(); }),
                  "dlogits");
}

TEST(CrossEntropy, InEvaluationLeavesTheLogitsAndGivesTheSameLosses) {
  ShardedLoss loss({whole()});
  const std::vector<double> trained = loss.run(true);
  EXPECT_EQ(loss.run(false), trained);
  EXPECT_EQ(loss.gradients[0], loss.logits[0]);
}

TEST(LossTotal, AddsTheMaskedLossesToWhatIsThere) {
  WideOp total({.op = LossTotal{.rows = 3}});
  total[LossTotal::kLosses] = {2, 3, 5};
  total[LossTotal::kLossMask] = {1, 0, 0.5};
  total.as<double>(LossTotal::kTotal)[0] = 10;
  total.run();
  EXPECT_EQ(total.as<double>(LossTotal::kTotal)[0], 14.5);
}

}  // namespace
}  // namespace trireme::ops::reference
