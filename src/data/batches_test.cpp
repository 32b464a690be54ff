#include "data/batches.h"

#include <gtest/gtest.h>

#include <numeric>

#include "data/legacy_shuffler.h"
#include "data/open_sources.h"
#include "data/test_dataset.h"

namespace trireme::data {
namespace {

/// Samples written down: k -> rows[k], all of s + 1 tokens.
class ListedSamples final : public SampleSource {
 public:
  explicit ListedSamples(std::vector<std::vector<int32_t>> rows) : rows_(std::move(rows)) {}
  [[nodiscard]] int64_t samples() const override { return static_cast<int64_t>(rows_.size()); }
  [[nodiscard]] int64_t sequence_length() const override {
    return static_cast<int64_t>(rows_[0].size()) - 1;
  }
  void read(int64_t k, std::span<int32_t> tokens) const override {
    const auto& row = rows_[static_cast<size_t>(k)];
    std::copy(row.begin(), row.end(), tokens.begin());
  }
  [[nodiscard]] std::string origin(int64_t k, int64_t offset) const override {
    return "list: " + std::to_string(k) + "." + std::to_string(offset);
  }

 private:
  std::vector<std::vector<int32_t>> rows_;
};

constexpr int32_t kEod = 9;

Batches listed(std::vector<std::vector<int32_t>> rows, BatchRules rules) {
  rules.vocab_size = rules.vocab_size > 0 ? rules.vocab_size : 10;
  return {std::make_unique<ListedSamples>(std::move(rows)), rules};
}

using Row = std::vector<int32_t>;

TEST(Batches, FieldsLieSequenceMajorWithLabelsOneTokenOn) {
  const Batches batches = listed({{1, 2, 3, 4}, {5, 6, 7, 8}}, {});
  BatchFields fields;
  batches.fill(0, 2, fields);
  EXPECT_EQ(fields.positions_per_sequence, 3);
  EXPECT_EQ(fields.sequences, 2);
  EXPECT_EQ(fields.tokens, (Row{1, 5, 2, 6, 3, 7}));
  EXPECT_EQ(fields.labels, (Row{2, 6, 3, 7, 4, 8}));
  EXPECT_EQ(fields.positions, (Row{0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(fields.segment_starts, Row(6, 0));
  EXPECT_EQ(fields.loss_mask, std::vector<float>(6, 1.0F));
  EXPECT_EQ(fields.sample_positions, (std::vector<int64_t>{0, 1}));
}

const std::vector<Row> kWithEod = {{1, kEod, 2, 3, kEod, kEod, 4, 5}};

TEST(Batches, ResetPositionIdsCountsFromZeroBehindEachEod) {
  const Batches batches = listed(kWithEod, {.eod = kEod, .reset_position_ids = true});
  BatchFields fields;
  batches.fill(0, 1, fields);
  EXPECT_EQ(fields.positions, (Row{0, 1, 0, 1, 2, 0, 0}));
  EXPECT_EQ(fields.segment_starts, Row(7, 0));
}

TEST(Batches, ResetAttentionMaskStartsASegmentBehindEachEod) {
  const Batches batches = listed(kWithEod, {.eod = kEod, .reset_attention_mask = true});
  BatchFields fields;
  batches.fill(0, 1, fields);
  EXPECT_EQ(fields.segment_starts, (Row{0, 0, 2, 2, 2, 5, 6}));
  EXPECT_EQ(fields.positions, (Row{0, 1, 2, 3, 4, 5, 6}));
}

TEST(Batches, EodMaskLossLeavesOutTheLossOfEodInputs) {
  const Batches batches = listed(kWithEod, {.eod = kEod, .eod_mask_loss = true});
  BatchFields fields;
  batches.fill(0, 1, fields);
  EXPECT_EQ(fields.loss_mask, (std::vector<float>{1, 0, 1, 1, 0, 0, 1}));
  EXPECT_EQ(batches.counted_tokens(0, 1), 4);
}

TEST(Batches, EodAsTheLastLabelCounts) {
  const Batches batches = listed({{1, 2, kEod}}, {.eod = kEod, .eod_mask_loss = true});
  EXPECT_EQ(batches.counted_tokens(0, 1), 2);
}

TEST(Batches, WithoutRulesAnEodIsATokenLikeOthers) {
  const Batches batches = listed(kWithEod, {.eod = kEod});
  BatchFields fields;
  batches.fill(0, 1, fields);
  EXPECT_EQ(fields.positions, (Row{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(fields.segment_starts, Row(7, 0));
  EXPECT_EQ(batches.counted_tokens(0, 1), 7);
}

TEST(Batches, IdsOutsideTheVocabularyAreRefusedWithTheirOrigin) {
  for (const int32_t id : {10, -1, 2147483647}) {
    const Batches batches = listed({{1, 2, 3}, {1, 2, id}}, {});
    BatchFields fields;
    batches.fill(0, 1, fields);
    const std::string error = error_of([&] { batches.fill(0, 2, fields); });
    EXPECT_TRUE(contains(error, "list: 1.2: token id " + std::to_string(id))) << error;
  }
}

TEST(Batches, RulesThatNeedAnEodRefuseToBeWithoutOne) {
  for (const BatchRules& rules :
       {BatchRules{.reset_position_ids = true}, BatchRules{.reset_attention_mask = true},
        BatchRules{.eod_mask_loss = true}}) {
    EXPECT_TRUE(contains(error_of([&] { listed({{1, 2}}, rules); }), "end-of-document"));
  }
}

TEST(Batches, SamplesBehindTheEndAreRefused) {
  const Batches batches = listed({{1, 2}, {3, 4}}, {});
  BatchFields fields;
  EXPECT_TRUE(contains(error_of([&] { batches.fill(1, 2, fields); }), "the order has 2"));
  EXPECT_TRUE(
      contains(error_of([&] { static_cast<void>(batches.counted_tokens(2, 1)); }), "has 2"));
}

class BatchesOfAFile : public FolderTest {
 protected:
  BatchesOfAFile() {
    Documents documents;
    LegacyShuffler random(5);
    for (int document = 0; document < 40; ++document) {
      std::vector<int64_t> tokens(random.bounded(30));
      for (int64_t& token : tokens) token = random.bounded(100);
      tokens.push_back(100);
      documents.push_back({tokens});
    }
    write_files(folder_ / "d", plain_files(documents, 8, 2));
  }
  [[nodiscard]] Batches open() const {
    ThreadPool pool(2);
    return {open_sources({.data_path = {(folder_ / "d").string()},
                          .split = "1",
                          .sequence_length = 16,
                          .requested = {kSamples, 0, 0}},
                         pool)[Part::train]
                .source,
            {.vocab_size = 101,
             .eod = 100,
             .reset_position_ids = true,
             .reset_attention_mask = true,
             .eod_mask_loss = true}};
  }
  static constexpr int64_t kSamples = 96;
};

/// One sequence of the fields, all of them side by side.
std::vector<int64_t> column(const BatchFields& fields, int64_t sequence) {
  std::vector<int64_t> values = {fields.sample_positions[static_cast<size_t>(sequence)]};
  for (int64_t position = 0; position < fields.positions_per_sequence; ++position) {
    const auto at = static_cast<size_t>(position * fields.sequences + sequence);
    values.insert(values.end(),
                  {fields.tokens[at], fields.labels[at], static_cast<int64_t>(fields.loss_mask[at]),
                   fields.positions[at], fields.segment_starts[at]});
  }
  return values;
}

TEST_F(BatchesOfAFile, ContentDependsOnThePositionAloneForAnyMicrobatchSize) {
  const Batches batches = open();
  std::vector<std::vector<int64_t>> expected;
  BatchFields fields;
  for (int64_t k = 0; k < kSamples; ++k) {
    batches.fill(k, 1, fields);
    expected.push_back(column(fields, 0));
  }
  const Batches again = open();
  for (const int64_t b : {2, 3, 8, 32, 96}) {
    for (int64_t first = 0; first < kSamples; first += b) {
      again.fill(first, b, fields);
      for (int64_t sequence = 0; sequence < b; ++sequence)
        EXPECT_EQ(column(fields, sequence), expected[static_cast<size_t>(first + sequence)]);
    }
  }
}

TEST_F(BatchesOfAFile, ResumingAtAnyPositionGivesWhatAStraightRunGave) {
  BatchFields straight;
  open().fill(0, kSamples, straight);
  for (int64_t position = 0; position < kSamples; position += 7) {
    BatchFields resumed;
    open().fill(position, kSamples - position, resumed);
    for (int64_t sequence = 0; sequence < kSamples - position; ++sequence)
      EXPECT_EQ(column(resumed, sequence), column(straight, position + sequence));
  }
}

TEST_F(BatchesOfAFile, CountedTokensIsTheSumOfTheLossMask) {
  const Batches batches = open();
  BatchFields fields;
  for (int64_t first = 0; first < kSamples; first += 12) {
    batches.fill(first, 12, fields);
    const float sum = std::accumulate(fields.loss_mask.begin(), fields.loss_mask.end(), 0.0F);
    EXPECT_EQ(batches.counted_tokens(first, 12), static_cast<int64_t>(sum));
    EXPECT_EQ(fields.counted_tokens, static_cast<int64_t>(sum));
    EXPECT_LT(sum, 12.0F * 16.0F);
  }
}

TEST_F(BatchesOfAFile, FillOfTheSameSizeKeepsItsMemory) {
  const Batches batches = open();
  BatchFields fields;
  fields.resize(16, 4);
  const int32_t* const tokens = fields.tokens.data();
  const int32_t* const workspace = fields.workspace.data();
  for (int64_t first = 0; first < kSamples; first += 4) batches.fill(first, 4, fields);
  EXPECT_EQ(fields.tokens.data(), tokens);
  EXPECT_EQ(fields.workspace.data(), workspace);
}

}  // namespace
}  // namespace trireme::data
