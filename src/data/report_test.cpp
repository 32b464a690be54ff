#include "data/report.h"

#include <algorithm>
#include <cmath>

#include "data/test_dataset.h"

namespace trireme::data {
namespace {

using ReportTest = FolderTest;

TEST_F(ReportTest, CountsATokenInTheSequencesOfAPart) {
  write_files(folder_ / "d", plain_files({{{1, 2, 9}}, {}, {{3, 4}, {5, 6, 9}}}, 8, 2));
  const IndexedDataset dataset(folder_ / "d");
  ThreadPool pool(2);
  const auto count = [&](SequenceRange range) {
    const TokenCount found = count_token(dataset, range, 9, pool, 1 << 20);
    EXPECT_TRUE(found.is_exact());
    return std::pair(found.found, found.tokens);
  };
  EXPECT_EQ(count({0, 3}), std::pair(int64_t{2}, int64_t{8}));
  EXPECT_EQ(count({1, 3}), std::pair(int64_t{1}, int64_t{5}));
  EXPECT_EQ(count({1, 2}), std::pair(int64_t{0}, int64_t{2}));
  EXPECT_EQ(count({3, 3}), std::pair(int64_t{0}, int64_t{0}));
}

TEST_F(ReportTest, LargeDatasetIsScannedInPartsSpreadOverIt) {
  // EOD in every fourth place of the first half only, so that a scan of the front would say 25%.
  std::vector<int64_t> tokens(int64_t{5} << 20, 1);
  for (size_t i = 0; i < tokens.size() / 2; i += 4) tokens[i] = 9;
  write_files(folder_ / "d", plain_files({{tokens}}, 8, 2));
  const IndexedDataset dataset(folder_ / "d");
  ThreadPool pool(2);
  const TokenCount part = count_token(dataset, {0, 1}, 9, pool, int64_t{1} << 20);
  EXPECT_EQ(part.scanned, int64_t{1} << 20);
  EXPECT_FALSE(part.is_exact());
  EXPECT_NEAR(part.share(), 0.125, 0.01);
  const TokenCount all = count_token(dataset, {0, 1}, 9, pool, int64_t{1} << 26);
  EXPECT_TRUE(all.is_exact());
  EXPECT_NEAR(all.share(), 0.125, 1e-6);
}

TEST_F(ReportTest, CountsEveryTokenWhereAllAreWanted) {
  // No multiple of a block.
  Documents documents = {{std::vector<int64_t>(100000)}};
  for (size_t i = 0; i < 100000; i += 10) documents[0][0][i] = 9;
  write_files(folder_ / "d", plain_files(documents, 8, 2));
  const IndexedDataset dataset(folder_ / "d");
  ThreadPool pool(2);
  const TokenCount all = count_token(dataset, {0, 1}, 9, pool, dataset.tokens());
  EXPECT_TRUE(all.is_exact());
  EXPECT_EQ(all.found, 10000);
}

class ReportOfSources : public FolderTest {
 protected:
  /// A dataset of documents of 9 words and an EOD (9); its prefix.
  std::string dataset(const std::string& name, int64_t documents) {
    const std::vector<int64_t> document = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    write_files(folder_ / name,
                plain_files(Documents(static_cast<size_t>(documents), {document}), 8, 2));
    return (folder_ / name).string();
  }
  DataReport report(const SourceOptions& options) {
    const OpenSources sources = open_sources(options, pool_);
    return report_sources(sources, options.requested, 9, pool_);
  }
  /// Inputs of a part that a run reads, by their places in the file; the file counts its tokens.
  int64_t truly_left_out(int64_t documents, int64_t requested) {
    write_files(
        folder_ / "count",
        plain_files(counting_documents(std::vector<int64_t>(static_cast<size_t>(documents), 10)), 8,
                    2));
    const OpenSources sources = open_sources({.data_path = {(folder_ / "count").string()},
                                              .split = "1",
                                              .sequence_length = 4,
                                              .requested = {requested, 0, 0}},
                                             pool_);
    std::vector<bool> seen(static_cast<size_t>(documents) * 10);
    std::vector<int32_t> row(5);
    for (int64_t k = 0; k < requested; ++k) {
      sources[Part::train].source->read(k, row);
      for (size_t i = 0; i < 4; ++i) seen[static_cast<size_t>(row[i])] = true;
    }
    return std::count(seen.begin(), seen.end(), false);
  }
  ThreadPool pool_{2};
};

TEST_F(ReportOfSources, SaysWhatARunTakesFromEachDataset) {
  const std::string a = dataset("a", 100);
  const std::string b = dataset("b", 50);
  const DataReport said = report({.data_path = {"1", a, "3", b},
                                  .split = "80,20",
                                  .sequence_length = 4,
                                  .requested = {200, 10, 0}});
  ASSERT_EQ(said.parts.size(), 2U);
  const PartReport& train = said.parts[0];
  EXPECT_EQ(train.part, Part::train);
  EXPECT_EQ(train.samples, 200);
  ASSERT_EQ(train.sources.size(), 2U);
  EXPECT_EQ(train.sources[0].name, a);
  EXPECT_EQ(train.sources[0].weight, 0.25);
  EXPECT_EQ(train.sources[0].documents, 80);
  EXPECT_EQ(train.sources[0].tokens, 800);
  EXPECT_EQ(train.sources[0].samples, 50);
  EXPECT_DOUBLE_EQ(train.sources[0].epochs, 0.25);
  EXPECT_DOUBLE_EQ(*train.sources[0].eod_share, 0.1);
  EXPECT_EQ(train.sources[0].left_out, 600);
  EXPECT_EQ(train.sources[1].samples, 150);
  EXPECT_DOUBLE_EQ(train.sources[1].epochs, 1.5);
  EXPECT_EQ(said.parts[1].part, Part::validation);
  EXPECT_EQ(said.parts[1].sources[1].documents, 10);
  const std::string text = said.text();
  for (const char* part : {"train, 2 datasets", "weight", "0.7500", "10.00%", "1.50", "600"})
    EXPECT_TRUE(contains(text, part)) << part << "\n" << text;
}

TEST_F(ReportOfSources, TokensLeftOutAreThoseThatTheRunDoesNotRead) {
  for (const int64_t requested : {1, 100, 249}) {  // within the first epoch of 1000 tokens
    const DataReport said = report({.data_path = {dataset("a", 100)},
                                    .split = "1",
                                    .sequence_length = 4,
                                    .requested = {requested, 0, 0}});
    EXPECT_EQ(said.parts[0].sources[0].left_out, truly_left_out(100, requested));
  }
  for (const int64_t requested : {260, 480, 1000}) {  // beyond: a mean over shuffles
    const DataReport said = report({.data_path = {dataset("a", 100)},
                                    .split = "1",
                                    .sequence_length = 4,
                                    .requested = {requested, 0, 0}});
    EXPECT_NEAR(static_cast<double>(said.parts[0].sources[0].left_out),
                static_cast<double>(truly_left_out(100, requested)), 8)
        << requested;
  }
}

TEST_F(ReportOfSources, IsALineForOneDatasetAndAWordForMockData) {
  const std::string text = report({.data_path = {dataset("a", 100)},
                                   .split = "90,10",
                                   .sequence_length = 4,
                                   .requested = {200, 10, 0}})
                               .text();
  EXPECT_TRUE(contains(text,
                       "a: 90 documents, 900 tokens (10.00% end-of-document); 200 samples = "
                       "0.89 epochs, 100 tokens left out"))
      << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  EXPECT_EQ(
      report({.mock_data = true, .vocab_size = 5, .sequence_length = 4, .requested = {7, 0, 0}})
          .text(),
      "data: train: mock data, 7 samples");
}

TEST_F(ReportOfSources, ExcerptShowsWhereDocumentsEndAndTheLossIsLeftOut) {
  const auto excerpt = [&](const BatchRules& rules) {
    write_files(folder_ / "e", plain_files({{{1, 2, 9, 3, 4, 5}}}, 8, 2));
    const auto dataset = std::make_shared<const IndexedDataset>(folder_ / "e");
    const auto samples = std::make_shared<const IndexedSamples>(
        dataset, SequenceRange{0, 1}, Part::train, SampleOrder{5, 1, 1}, nullptr, pool_);
    return excerpt_of(Batches(samples, rules), nullptr);
  };
  EXPECT_EQ(excerpt({.vocab_size = 10, .eod = 9}), "from sample 0: 1 2 9 3 4");
  EXPECT_EQ(excerpt({.vocab_size = 10, .eod = 9, .eod_mask_loss = true}),
            "from sample 0: 1 2 [[9]] 3 4");
  EXPECT_EQ(excerpt({.vocab_size = 10,
                     .eod = 9,
                     .reset_position_ids = true,
                     .reset_attention_mask = true,
                     .eod_mask_loss = true}),
            "from sample 0: 1 2 [[9]] | 3 4");
}

TEST_F(ReportTest, UnigramEntropyIsThatOfTheLabelsThatCount) {
  // s = 4: the labels are 1 2 3 9, the mask leaves out the one behind the input 9.
  const auto entropy = [&](std::vector<int64_t> tokens, bool mask) {
    write_files(folder_ / "d", plain_files({{tokens}}, 8, 2));
    ThreadPool pool(2);
    const Batches batches(open_sources({.data_path = {(folder_ / "d").string()},
                                        .split = "1",
                                        .sequence_length = 4,
                                        .requested = {1, 0, 0}},
                                       pool)[Part::train]
                              .source,
                          {.vocab_size = 10, .eod = 9, .eod_mask_loss = mask});
    return unigram_entropy(batches, 0, 1, pool);
  };
  EXPECT_NEAR(entropy({9, 1, 2, 3, 9}, false), std::log(4.0), 1e-12);
  EXPECT_NEAR(entropy({9, 1, 2, 3, 9}, true), std::log(3.0), 1e-12);
  EXPECT_NEAR(entropy({1, 2, 2, 2, 2}, false), 0.0, 1e-12);
}

}  // namespace
}  // namespace trireme::data
