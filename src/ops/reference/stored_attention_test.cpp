#include "program/op/stored_attention.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ops/reference/wide_op.h"

namespace trireme::ops::reference {
namespace {

using program::Attention;
using program::AttentionBackward;
using program::AttentionContext;
using program::AttentionContextBackward;
using program::AttentionScores;
using program::AttentionScoresBackward;
using program::ScaleMaskSoftmax;
using program::ScaleMaskSoftmaxBackward;
using program::StoredAttentionSizes;

StoredAttentionSizes sizes_of(int64_t length, double probability) {
  StoredAttentionSizes op;
  op.length = length;
  op.sequences = 2;
  op.heads = 2;
  op.first_head = 1;
  op.head_dim = 4;
  op.dropout = {.site = RandomSite::attention_dropout, .probability = probability};
  return op;
}

struct MaskCase {
  double probability;
  bool documents;
};
class StoredAttention : public ::testing::TestWithParam<MaskCase> {};
INSTANTIATE_TEST_SUITE_P(DropoutAndDocuments, StoredAttention,
                         ::testing::Values(MaskCase{0, false}, MaskCase{0.3, false},
                                           MaskCase{0, true}, MaskCase{0.3, true}));

TEST(AttentionScoresBackward, EqualsFiniteDifferences) {
  const StoredAttentionSizes op = sizes_of(7, 0);
  WideOp forward({.op = AttentionScores{op}});
  // Scores above the diagonal are zero whatever q and k are, so their weights do not matter.
  const std::vector<double> weights = loss_weights(static_cast<size_t>(op.score_elements()));
  const auto loss = [&] {
    forward.run();
    return weighted_sum(weights, forward[AttentionScores::kScores]);
  };
  std::vector<double> numerical = numerical_gradient(forward[AttentionScores::kQkv], loss);
  WideOp backward({.op = AttentionScoresBackward{op}});
  std::vector<double>& dscores = backward[AttentionScoresBackward::kDscores];
  for (size_t i = 0; i < dscores.size(); ++i) dscores[i] = dscores[i] == 0 ? 0 : weights[i];
  backward[AttentionScoresBackward::kQkv] = forward[AttentionScores::kQkv];
  std::vector<double>& dqkv = backward[AttentionScoresBackward::kDqkv];
  for (size_t i = 0; i < dqkv.size(); ++i) {
    if (i / 4 % 3 == 2) numerical[i] = dqkv[i];  // v's third stays as it is
  }
  backward.run();
  expect_gradient(dqkv, numerical, "dqkv");
}

TEST_P(StoredAttention, SoftmaxBackwardEqualsFiniteDifferences) {
  const StoredAttentionSizes op = sizes_of(7, GetParam().probability);
  const bool drops = GetParam().probability > 0;
  WideOp forward({.op = ScaleMaskSoftmax{op, GetParam().documents},
                  .documents = GetParam().documents,
                  .layer = 3});
  const std::vector<double> weights = loss_weights(static_cast<size_t>(op.score_elements()));
  const auto loss = [&] {
    forward.run();
    return weighted_sum(
        weights, forward[drops ? ScaleMaskSoftmax::kKept : ScaleMaskSoftmax::kProbabilities]);
  };
  loss();
  WideOp backward({.op = ScaleMaskSoftmaxBackward{op}, .layer = 3});
  backward[ScaleMaskSoftmaxBackward::kDkept] = weights;
  backward[ScaleMaskSoftmaxBackward::kProbabilities] = forward[ScaleMaskSoftmax::kProbabilities];
  backward.run();
  expect_gradient(backward[ScaleMaskSoftmaxBackward::kDscores],
                  numerical_gradient(forward[ScaleMaskSoftmax::kScores], loss), "dscores");
}

TEST(AttentionContextBackward, EqualsFiniteDifferences) {
  const StoredAttentionSizes op = sizes_of(7, 0);
  WideOp forward({.op = AttentionContext{op}});
  const std::vector<double> weights = loss_weights(static_cast<size_t>(op.context_elements()));
  const auto loss = [&] {
    forward.run();
    return weighted_sum(weights, forward[AttentionContext::kContext]);
  };
  WideOp backward({.op = AttentionContextBackward{op}});
  backward[AttentionContextBackward::kDcontext] = weights;
  backward[AttentionContextBackward::kKept] = forward[AttentionContext::kKept];
  backward[AttentionContextBackward::kQkv] = forward[AttentionContext::kQkv];
  std::vector<double>& dqkv = backward[AttentionContextBackward::kDqkv];
  std::vector<double> of_v = numerical_gradient(forward[AttentionContext::kQkv], loss);
  for (size_t i = 0; i < dqkv.size(); ++i) {
    if (i / 4 % 3 != 2) of_v[i] = dqkv[i];  // q's and k's thirds stay as they are
  }
  backward.run();
  expect_gradient(dqkv, of_v, "dqkv");
  expect_gradient(backward[AttentionContextBackward::kDkept],
                  numerical_gradient(forward[AttentionContext::kKept], loss), "dkept");
}

// The steps one after the other.
struct Steps {
  WideOp scores, softmax, context;
  Steps(const StoredAttentionSizes& op, const MaskCase& mask)
      : scores({.op = AttentionScores{op}}),
        softmax(
            {.op = ScaleMaskSoftmax{op, mask.documents}, .documents = mask.documents, .layer = 3}),
        context({.op = AttentionContext{op}}) {}
  void run(const std::vector<double>& qkv, int kept) {
    scores[AttentionScores::kQkv] = context[AttentionContext::kQkv] = qkv;
    scores.run();
    softmax[ScaleMaskSoftmax::kScores] = scores[AttentionScores::kScores];
    softmax.run();
    context[AttentionContext::kKept] = softmax[kept];
    context.run();
  }
};

void expect_near(const std::vector<double>& actual, const std::vector<double>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-13) << i;
}

TEST_P(StoredAttention, IsAttentionInSteps) {
  const StoredAttentionSizes op = sizes_of(9, GetParam().probability);
  const bool documents = GetParam().documents;
  WideOp whole({.op = Attention{op}, .documents = documents, .layer = 3});
  whole.run();
  Steps steps(op, GetParam());
  const int kept = op.dropout.probability > 0 ? int{ScaleMaskSoftmax::kKept}
                                              : int{ScaleMaskSoftmax::kProbabilities};
  steps.run(whole[Attention::kQkv], kept);
  expect_near(steps.context[AttentionContext::kContext], whole[Attention::kContext]);

  WideOp backward({.op = AttentionBackward{op}, .documents = documents, .layer = 3});
  backward[AttentionBackward::kQkv] = whole[Attention::kQkv];
  backward[AttentionBackward::kContext] = whole[Attention::kContext];
  backward[AttentionBackward::kLse] = whole[Attention::kLse];
  backward.run();
  WideOp of_context({.op = AttentionContextBackward{op}});
  of_context[AttentionContextBackward::kDcontext] = backward[AttentionBackward::kDcontext];
  of_context[AttentionContextBackward::kKept] = steps.softmax[kept];
  of_context[AttentionContextBackward::kQkv] = whole[Attention::kQkv];
  of_context.run();
  WideOp of_softmax({.op = ScaleMaskSoftmaxBackward{op}, .layer = 3});
  of_softmax[ScaleMaskSoftmaxBackward::kDkept] = of_context[AttentionContextBackward::kDkept];
  of_softmax[ScaleMaskSoftmaxBackward::kProbabilities] =
      steps.softmax[ScaleMaskSoftmax::kProbabilities];
  of_softmax.run();
  WideOp of_scores({.op = AttentionScoresBackward{op}});
  of_scores[AttentionScoresBackward::kDscores] = of_softmax[ScaleMaskSoftmaxBackward::kDscores];
  of_scores[AttentionScoresBackward::kQkv] = whole[Attention::kQkv];
  of_scores[AttentionScoresBackward::kDqkv] = of_context[AttentionContextBackward::kDqkv];
  of_scores.run();
  expect_near(of_scores[AttentionScoresBackward::kDqkv], backward[AttentionBackward::kDqkv]);
}

TEST_P(StoredAttention, SoftmaxGivesWhatIsNotAttendedToNoProbability) {
  const StoredAttentionSizes op = sizes_of(6, GetParam().probability);
  const bool documents = GetParam().documents;
  WideOp softmax({.op = ScaleMaskSoftmax{op, documents}, .documents = documents, .layer = 3});
  softmax.run();
  const std::vector<double>& p = softmax[ScaleMaskSoftmax::kProbabilities];
  for (int64_t row = 0; row < op.rows(); ++row) {  // [b, heads, s]
    const int64_t query = row % op.length;
    const int64_t sequence = row / op.length / op.heads;
    const int64_t first =
        documents ? softmax.as<int32_t>(ScaleMaskSoftmax::kSegmentStarts)[static_cast<size_t>(
                        query * op.sequences + sequence)]
                  : 0;
    double sum = 0;
    for (int64_t key = 0; key < op.length; ++key) {
      const double here = p[static_cast<size_t>(row * op.length + key)];
      EXPECT_EQ(here > 0, first <= key && key <= query) << row << ", " << key;
      sum += here;
    }
    EXPECT_NEAR(sum, 1, 1e-14);
  }
}

}  // namespace
}  // namespace trireme::ops::reference
