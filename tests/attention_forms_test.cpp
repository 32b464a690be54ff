// The two forms of attention, that which recomputes its scores and that which stores them, in whole
// runs: the same loss and gradients up to rounding.

#include <gtest/gtest.h>

#include <cmath>

#include "test_run.h"

namespace trireme {
namespace {

using model::AttentionForm;

// The first step of a run, and what it leaves.
struct FirstStep {
  double loss = 0;
  double evaluated = 0;
  std::vector<std::string> names = {};
  std::vector<std::vector<float>> gradients = {};  // [tensor]

  FirstStep(AttentionForm form, double dropout, bool documents) {
    TestRun run({.threads = 2,
                 .micro_batch = documents ? 1 : 2,
                 .microbatches = documents ? 1 : 2,
                 .dropout = dropout,
                 .attention = form,
                 .documents = documents},
                documents ? std::shared_ptr<data::SampleSource>(new PackedSamples(true))
                          : std::make_shared<RuleSamples>(),
                {.vocab_size = kWords, .eod = kEod, .reset_attention_mask = documents});
    evaluated = train::evaluate_loss(run.session, run.batches, 0, documents ? 1 : 4);
    loss = run.trainer.step().loss;
    for (int i = 0; i < run.session.plan().table.size(); ++i) {
      const TensorId id{i};
      names.push_back(run.session.plan().table[id].name);
      gradients.emplace_back(static_cast<size_t>(run.session.slice_elements(id)));
      run.session.read_tensor(id, TensorState::gradient, gradients.back());
    }
  }
};

double largest(const std::vector<float>& values) {
  double result = 0;
  for (const float x : values) result = std::max(result, std::abs(double{x}));
  return result;
}

class AttentionForms : public ::testing::TestWithParam<std::tuple<double, bool>> {};

TEST_P(AttentionForms, HaveTheSameLossAndGradients) {
  const auto [dropout, documents] = GetParam();
  const FirstStep recomputed(AttentionForm::recomputed, dropout, documents);
  const FirstStep stored(AttentionForm::stored, dropout, documents);
  EXPECT_NEAR(stored.loss / recomputed.loss, 1, 1e-6);
  EXPECT_NEAR(stored.evaluated / recomputed.evaluated, 1, 1e-6);
  for (size_t i = 0; i < recomputed.gradients.size(); ++i) {
    std::vector<float> difference = stored.gradients[i];
    for (size_t e = 0; e < difference.size(); ++e) difference[e] -= recomputed.gradients[i][e];
    EXPECT_GT(largest(recomputed.gradients[i]), 0) << recomputed.names[i];
    EXPECT_LE(largest(difference), 2e-5 * largest(recomputed.gradients[i])) << recomputed.names[i];
  }
}

INSTANTIATE_TEST_SUITE_P(DropoutAndDocuments, AttentionForms,
                         ::testing::Combine(::testing::Values(0.0, 0.2), ::testing::Bool()));

TEST(StoredAttention, TrainsWithTheSameBitsForAnyNumberOfThreads) {
  TestRun one({.threads = 1, .attention = AttentionForm::stored});
  const auto losses = one.steps(4);
  const auto state = one.state();
  for (const int threads : {2, 3}) {
    TestRun other({.threads = threads, .attention = AttentionForm::stored});
    EXPECT_EQ(other.steps(4), losses) << threads;
    EXPECT_EQ(other.state(), state) << threads;
  }
}

TEST(StoredAttention, SeesAllOfTheSequenceWhereDocumentsAreNotKeptApart) {
  const auto loss = [](bool documents) {
    TestRun run({.micro_batch = 1,
                 .microbatches = 1,
                 .dropout = 0,
                 .attention = AttentionForm::stored,
                 .documents = documents},
                std::make_shared<PackedSamples>(true), {.vocab_size = kWords});
    return run.trainer.step().loss;
  };
  // The causal kernel and the general one with every segment at 0.
  EXPECT_EQ(loss(false), loss(true));
}

}  // namespace
}  // namespace trireme
