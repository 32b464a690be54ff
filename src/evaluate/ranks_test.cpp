// Evaluations of one model, cut over ranks in every way: all ranks know the same scores, which are
// those of one rank.

#include <gtest/gtest.h>

#include <cmath>

#include "comm/local/run.h"
#include "core/error.h"
#include "core/format.h"
#include "evaluate/language.h"
#include "evaluate/test_model.h"
#include "evaluate/windows.h"

namespace trireme::evaluate {
namespace {

struct Cut {
  int p = 1;
  int t = 1;
  int d = 1;
  bool scatter_gather = false;

  [[nodiscard]] std::string text() const {
    return format("p {} t {} d {}{}", p, t, d, scatter_gather ? " scatter/gather" : "");
  }
};

// What every rank of a cut comes to; the same on all.
template <class Evaluate>
auto on_all_ranks(const Cut& cut, Evaluate evaluate) {
  const parallel::Topology topology(cut.p, cut.t, cut.d);
  std::vector<decltype(evaluate(std::declval<TestModel&>()))> results(
      static_cast<size_t>(topology.world_size()));
  comm::run_ranks({.ranks = topology.world_size(), .patience = {.limit = std::chrono::seconds(60)}},
                  [&](comm::Port& port) {
                    TestModel model(port, topology);
                    model.scatter_gather = cut.scatter_gather;
                    results[static_cast<size_t>(port.rank())] = evaluate(model);
                  });
  for (const auto& result : results) EXPECT_EQ(result, results[0]) << cut.text();
  return results[0];
}

// Only the sums of tensor ranks are in another order.
void expect_scores(const std::vector<Score>& scores, const std::vector<Score>& expected,
                   const Cut& cut) {
  ASSERT_EQ(scores.size(), expected.size());
  if (cut.t == 1) {
    EXPECT_EQ(scores, expected) << cut.text();
  }
  for (size_t i = 0; i < scores.size(); ++i) {
    EXPECT_EQ(scores[i].tokens, expected[i].tokens);
    EXPECT_EQ(scores[i].hits, expected[i].hits);
    EXPECT_NEAR(scores[i].nats, expected[i].nats, 1e-5 * expected[i].nats) << cut.text();
  }
}

const std::vector<Cut> kCuts = {{.p = 2},
                                {.p = 4},
                                {.t = 2},
                                {.t = 4},
                                {.d = 2},
                                {.d = 3},
                                {.d = 8},
                                {.p = 2, .t = 2},
                                {.p = 2, .d = 2},
                                {.t = 2, .d = 2},
                                {.p = 2, .t = 2, .d = 2, .scatter_gather = true}};

std::vector<std::vector<int32_t>> texts() {
  std::vector<std::vector<int32_t>> texts;
  uint32_t seed = 11;
  for (const size_t length : {1, 5, 64, 63, 65, 30, 129, 2, 128, 90, 7, 140})
    texts.push_back(some_tokens(length + 1, seed++));
  return texts;
}

TEST(ScorePassages, GivesTheScoresOfOneRankForEveryCut) {
  const auto tokens = texts();
  std::vector<Passage> passages;
  for (const auto& text : tokens) passages.push_back({.tokens = text});
  const auto scores = [&](TestModel& model) {
    int64_t told = 0;
    int64_t of = 0;
    auto result = score_passages(passages, model.open(),
                                 {.longest = kPositions, .sequences = 2, .team = model.team()},
                                 [&](int64_t done, int64_t all) {
                                   EXPECT_GT(done, told);
                                   told = done;
                                   of = all;
                                 });
    EXPECT_EQ(told, of);
    return result;
  };
  TestModel one;
  const std::vector<Score> expected = scores(one);
  EXPECT_GT(expected[6].nats, 0);
  for (const Cut& cut : kCuts) expect_scores(on_all_ranks(cut, scores), expected, cut);
}

TEST(ScorePassages, OpensASessionOnlyWhereThereIsSomethingToScore) {
  const auto tokens = texts();
  const std::vector<Passage> three(3, {.tokens = tokens[2]});
  const auto opened = on_all_ranks({.d = 4}, [&](TestModel& model) {
    static_cast<void>(score_passages(
        three, model.open(), {.longest = kPositions, .sequences = 1, .team = model.team()}));
    EXPECT_EQ(model.opened, model.team().data_rank() < 3 ? 1 : 0);
    return 0;
  });
  static_cast<void>(opened);
}

TEST(EvaluateSamples, GivesTheResultOfOneRankForEveryCut) {
  const auto batches = std::make_shared<const data::Batches>(
      std::make_shared<data::MockSamples>(
          data::MockSamples::Options{.vocab_size = 40, .sequence_length = 12, .samples = 23}),
      data::BatchRules{.vocab_size = kWords, .eod = 3, .eod_mask_loss = true});
  // More samples than one round of the data ranks, as many, and fewer.
  for (const int64_t count : {1, 6, 23}) {
    const auto result = [&](TestModel& model) {
      const LanguageResult language =
          evaluate_samples(batches, count, &tokenizer(), model.open(), 3, model.team(), {});
      EXPECT_EQ(language.score.tokens, batches->counted_tokens(0, count));
      return std::pair(language.score, language.bytes);
    };
    TestModel one;
    const auto expected = result(one);
    for (const Cut& cut : kCuts) {
      const auto [score, bytes] = on_all_ranks(cut, result);
      expect_scores({score}, {expected.first}, cut);
      EXPECT_EQ(bytes, expected.second) << cut.text();
    }
  }
}

TEST(ScorePassages, EndsAllRanksWhereALossIsNoNumber) {
  const auto tokens = some_tokens(9, 3);
  const auto broken = [&](TestModel& model) {
    const OpenSession open = [&](int64_t length, int64_t b) {
      auto session = model.session(length, b);
      const auto& plan = session->plan();
      const TensorId bias = *plan.table.find("decoder.final_layernorm.bias");
      if (plan.local.holds(bias)) {
        const std::vector<float> values(static_cast<size_t>(session->slice_elements(bias)),
                                        std::nanf(""));
        session->write_tensor(bias, engine::TensorState::parameter, values);
      }
      return session;
    };
    return score_passages(std::vector<Passage>{{.tokens = tokens}}, open,
                          {.longest = kPositions, .team = model.team()});
  };
  try {
    on_all_ranks({.p = 2, .t = 2}, broken);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("the loss of token"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace trireme::evaluate
