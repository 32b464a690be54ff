#include "evaluate/scorer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "evaluate/batch_scorer.h"
#include "evaluate/language.h"
#include "evaluate/test_model.h"
#include "evaluate/windows.h"

namespace trireme::evaluate {
namespace {

TEST(CutWindows, PredictsEveryTokenButTheFirstOnceWithTheContextThatItPromises) {
  for (const int64_t count : {2, 3, 7, 8, 9, 10, 16, 17, 18, 31, 100}) {
    const std::vector<int32_t> tokens = some_tokens(static_cast<size_t>(count), 5);
    for (const int64_t length : {1, 2, 5, 8, 40}) {
      for (int64_t stride = 1; stride <= length; ++stride) {
        std::vector<int> predicted(tokens.size(), 0);
        const std::vector<Passage> windows = cut_windows(tokens, length, stride);
        for (const Passage& window : windows) {
          ASSERT_GE(window.counted(), 1);
          ASSERT_LE(window.length(), length);
          const auto begin = static_cast<size_t>(window.tokens.data() - tokens.data());
          EXPECT_EQ(begin % static_cast<size_t>(stride), 0U);
          if (begin > 0) {
            EXPECT_GE(window.first_counted, length - stride + 1);
          }
          for (size_t i = static_cast<size_t>(window.first_counted); i < window.tokens.size(); ++i)
            predicted[begin + i] += 1;
        }
        EXPECT_EQ(predicted[0], 0);
        for (size_t i = 1; i < predicted.size(); ++i) ASSERT_EQ(predicted[i], 1) << i;
      }
    }
  }
  EXPECT_TRUE(cut_windows(some_tokens(1, 1), 8, 4).empty());
  EXPECT_TRUE(cut_windows({}, 8, 4).empty());
}

// Passages of many lengths and what is counted of them.
struct Passages {
  std::vector<std::vector<int32_t>> tokens;
  std::vector<Passage> passages;

  Passages() {
    uint32_t seed = 11;
    for (const int64_t length : {1, 5, 64, 63, 65, 30, 129, 2, 128, 90, 7, 140}) {
      tokens.push_back(some_tokens(static_cast<size_t>(length) + 1, seed++));
      for (size_t at = 1; at < tokens.back().size(); at += 4) tokens.back()[at] = 17;
    }
    for (size_t i = 0; i < tokens.size(); ++i) {
      const auto last = static_cast<int64_t>(tokens[i].size()) - 1;
      passages.push_back({.tokens = tokens[i], .first_counted = i % 2 == 0 ? 1 : last});
    }
  }
};

TEST(ScorePassages, SaysWhatTheModelSaysOfEachPassageAlone) {
  TestModel model(17);
  const Passages some;
  const std::vector<Score> scores =
      score_passages(some.passages, model.open(), {.longest = kPositions, .sequences = 3});
  int64_t hits = 0;
  for (size_t i = 0; i < scores.size(); ++i) {
    const Passage& passage = some.passages[i];
    const TestModel::Direct direct = model.direct(passage.tokens);
    Score expected;
    for (auto at = static_cast<size_t>(passage.first_counted); at < passage.tokens.size(); ++at) {
      expected.nats += double{direct.losses[at - 1]};
      expected.tokens += 1;
      expected.hits += direct.greedy[at - 1] ? 1 : 0;
    }
    EXPECT_EQ(scores[i], expected) << i;  // by bits: neither padding nor neighbours matter
    hits += expected.hits;
  }
  EXPECT_GT(hits, 0);
}

TEST(ScorePassages, GivesTheSameBitsForAnyNumberAtATime) {
  TestModel model;
  const Passages some;
  const std::vector<Score> one =
      score_passages(some.passages, model.open(), {.longest = kPositions, .sequences = 1});
  EXPECT_EQ(model.opened, 3);  // positions 64, 128 and 160
  for (const int64_t b : {2, 3, 5, 12, 40}) {
    int64_t last = 0;
    int64_t all = 0;
    EXPECT_EQ(score_passages(some.passages, model.open(), {.longest = kPositions, .sequences = b},
                             [&](int64_t done, int64_t of) {
                               EXPECT_GT(done, last);
                               last = done;
                               all = of;
                             }),
              one)
        << b;
    EXPECT_EQ(last, all);
  }
  // In another order, and among others.
  std::vector<Passage> reversed(some.passages.rbegin(), some.passages.rend());
  std::vector<Score> scores =
      score_passages(reversed, model.open(), {.longest = kPositions, .sequences = 4});
  std::reverse(scores.begin(), scores.end());
  EXPECT_EQ(scores, one);
}

TEST(BatchScorer, CallsAHitWhatNoOtherLabelBeats) {
  TestModel model;
  const auto session = model.session(6, 2);
  BatchScorer scorer(*session);
  data::BatchFields fields;
  fields.resize(6, 2);
  const std::vector<int32_t> tokens = some_tokens(12, 3);
  std::copy(tokens.begin(), tokens.end(), fields.tokens.begin());
  for (size_t i = 0; i < 12; ++i) fields.positions[i] = static_cast<int32_t>(i / 2);
  // One place of sequence 1 at a time, with each word as its label.
  for (const size_t place : {1U, 7U, 11U}) {
    std::fill(fields.loss_mask.begin(), fields.loss_mask.end(), 0.0F);
    fields.loss_mask[place] = 1;
    double least = std::numeric_limits<double>::infinity();
    double probability = 0;
    int32_t likeliest = -1;
    int32_t hit = -1;
    for (int32_t word = 0; word < kWords; ++word) {
      fields.labels[place] = word;
      const std::span<const Score> scores = scorer.score(fields);
      EXPECT_EQ(scores[0], Score{});
      EXPECT_EQ(scores[1].tokens, 1);
      probability += std::exp(-scores[1].nats);
      if (scores[1].nats < least) {
        least = scores[1].nats;
        likeliest = word;
      }
      if (scores[1].greedy()) hit = word;
    }
    EXPECT_EQ(hit, likeliest);
    EXPECT_NEAR(probability, 1, 1e-5);
  }
}

TEST(BatchScorer, RefusesALossThatIsNoNumber) {
  TestModel model;
  const auto session = model.session(4, 1);
  const TensorId id = *session->plan().table.find("decoder.final_layernorm.bias");
  session->write_tensor(id, engine::TensorState::parameter,
                        std::vector<float>(static_cast<size_t>(session->slice_elements(id)), NAN));
  BatchScorer scorer(*session);
  data::BatchFields fields;
  fields.resize(4, 1);
  fields.loss_mask[2] = 1;
  try {
    static_cast<void>(scorer.score(fields));
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("at position 2"), std::string::npos) << error.what();
  }
}

// Nats of all tokens of a text but the first, each from as much context as a stride gives it.
double direct_nats(TestModel& model, std::span<const int32_t> tokens, size_t length,
                   size_t stride) {
  double nats = 0;
  for (size_t i = 1; i < tokens.size(); ++i) {
    // The first window that reaches it.
    size_t begin = 0;
    while (begin + length < i) begin += stride;
    nats += double{model.direct(tokens.subspan(begin, i + 1 - begin)).losses.back()};
  }
  return nats;
}

TEST(EvaluateText, CountsAsADirectComputationForEachStride) {
  TestModel model;
  const std::string text =
      "The water is low and the oars are long. One bank rows, and three banks row the ship.";
  const std::vector<int32_t> tokens = tokenizer().encode(text);
  ASSERT_GT(tokens.size(), 30U);
  double before = 0;
  for (const int64_t stride : {16, 8, 3}) {
    const LanguageResult result = evaluate_text(text, "text", tokenizer(), stride, model.open(),
                                                {.longest = 16, .sequences = 2});
    EXPECT_EQ(result.score.tokens, static_cast<int64_t>(tokens.size()) - 1);
    EXPECT_EQ(result.bytes,
              static_cast<int64_t>(text.size() - tokenizer().token_bytes(tokens[0]).size()));
    const double nats = direct_nats(model, tokens, 16, static_cast<size_t>(stride));
    EXPECT_NEAR(result.score.nats, nats, 1e-12 * nats);
    EXPECT_DOUBLE_EQ(result.perplexity(), std::exp(result.loss()));
    EXPECT_DOUBLE_EQ(result.bits_per_byte() * std::log(2.0) * static_cast<double>(result.bytes),
                     result.score.nats);
    EXPECT_NE(result.score.nats, before);  // the stride matters
    before = result.score.nats;
  }
  for (const char* none : {"", "a"}) {
    EXPECT_THROW(static_cast<void>(evaluate_text(none, "text", tokenizer(), 4, model.open(),
                                                 {.longest = 16, .sequences = 2})),
                 Error);
  }
}

std::shared_ptr<const data::Batches> random_batches(int64_t samples, int32_t eod) {
  return std::make_shared<const data::Batches>(
      std::make_shared<data::MockSamples>(
          data::MockSamples::Options{.vocab_size = 40, .sequence_length = 12, .samples = samples}),
      data::BatchRules{.vocab_size = kWords, .eod = eod, .eod_mask_loss = eod >= 0});
}

TEST(EvaluateSamples, CountsEachSampleOnceForAnyNumberAtATime) {
  TestModel model;
  const auto batches = random_batches(11, 3);
  for (const int64_t count : {1, 4, 7, 11}) {
    std::vector<LanguageResult> results;
    for (const int64_t b : {1, 2, 4, 16}) {
      const LanguageResult result = evaluate_samples(batches, count, &tokenizer(), model.open(), b,
                                                     {}, {.threads = b == 2 ? 2 : 0});
      EXPECT_EQ(result.score.tokens, batches->counted_tokens(0, count));
      EXPECT_LT(result.score.tokens, count * 12);
      EXPECT_GT(result.bytes, 0);
      if (!results.empty()) {
        EXPECT_EQ(result.score, results[0].score) << count << ", " << b;
        EXPECT_EQ(result.bytes, results[0].bytes);
      }
      results.push_back(result);
    }
  }
  // The bytes of the labels that count, by hand; without a tokenizer they are not known.
  data::BatchFields fields;
  batches->fill(0, 11, fields);
  int64_t bytes = 0;
  double nats = 0;
  for (size_t j = 0; j < 11; ++j) {
    std::vector<int32_t> tokens;
    for (size_t i = 0; i < 12; ++i) tokens.push_back(fields.tokens[i * 11 + j]);
    tokens.push_back(fields.labels[11 * 11 + j]);
    const TestModel::Direct direct = model.direct(tokens);
    for (size_t i = 0; i < 12; ++i) {
      if (tokens[i] == 3) continue;
      bytes += static_cast<int64_t>(tokenizer().token_bytes(tokens[i + 1]).size());
      nats += double{direct.losses[i]};
    }
  }
  const LanguageResult all = evaluate_samples(batches, 11, &tokenizer(), model.open(), 3, {}, {});
  EXPECT_NEAR(all.score.nats, nats, 1e-12 * nats);
  EXPECT_EQ(all.bytes, bytes);
  EXPECT_EQ(evaluate_samples(batches, 11, nullptr, model.open(), 3, {}, {}).bytes, 0);
}

TEST(EvaluateSamples, RefusesDataOfWhichNoTokenCounts) {
  TestModel model;
  const auto batches = std::make_shared<const data::Batches>(
      std::make_shared<data::MockSamples>(
          data::MockSamples::Options{.vocab_size = 1, .sequence_length = 12, .samples = 3}),
      data::BatchRules{.vocab_size = kWords, .eod = 0, .eod_mask_loss = true});
  EXPECT_THROW(static_cast<void>(evaluate_samples(batches, 3, nullptr, model.open(), 2, {}, {})),
               Error);
}

}  // namespace
}  // namespace trireme::evaluate
