#include "data/report.h"

#include <cmath>

#include "data/test_dataset.h"

namespace trireme::data {
namespace {

using ReportTest = FolderTest;

TEST_F(ReportTest, CountsDocumentsTokensAndTheShareOfEod) {
  write_files(folder_ / "d", plain_files({{{1, 2, 9}}, {}, {{3, 4}, {5, 6, 9}}}, 8, 2));
  ThreadPool pool(2);
  const DatasetReport report = report_dataset(IndexedDataset(folder_ / "d"), 9, pool);
  EXPECT_EQ(report.documents, 3);
  EXPECT_EQ(report.sequences, 3);
  EXPECT_EQ(report.tokens, 8);
  EXPECT_EQ(report.largest_token, 9);
  EXPECT_TRUE(report.is_exact());
  EXPECT_DOUBLE_EQ(report.eod_share(), 0.25);
}

TEST_F(ReportTest, LargeDatasetIsScannedInPartsSpreadOverIt) {
  // EOD in every fourth place of the first half only, so that a scan of the front would say 25%.
  std::vector<int64_t> tokens(int64_t{5} << 20, 1);
  for (size_t i = 0; i < tokens.size() / 2; i += 4) tokens[i] = 9;
  write_files(folder_ / "d", plain_files({{tokens}}, 8, 2));
  const IndexedDataset dataset(folder_ / "d");
  ThreadPool pool(2);
  const DatasetReport part = report_dataset(dataset, 9, pool, int64_t{1} << 20);
  EXPECT_EQ(part.scanned_tokens, int64_t{1} << 20);
  EXPECT_FALSE(part.is_exact());
  EXPECT_NEAR(part.eod_share(), 0.125, 0.01);
  const DatasetReport all = report_dataset(dataset, 9, pool);
  EXPECT_TRUE(all.is_exact());
  EXPECT_NEAR(all.eod_share(), 0.125, 1e-6);
}

TEST_F(ReportTest, EmptyDatasetHasNoShare) {
  write_files(folder_ / "d", plain_files({}, 8, 2));
  ThreadPool pool(1);
  const DatasetReport report = report_dataset(IndexedDataset(folder_ / "d"), 9, pool);
  EXPECT_EQ(report.eod_share(), 0.0);
  EXPECT_EQ(report.largest_token, -1);
}

TEST_F(ReportTest, UnigramEntropyIsThatOfTheLabelsThatCount) {
  // s = 4: the labels are 1 2 3 9, the mask leaves out the one behind the input 9.
  const auto entropy = [&](std::vector<int64_t> tokens, bool mask) {
    write_files(folder_ / "d", plain_files({{tokens}}, 8, 2));
    const Batches batches(open_sources({.data_path = {(folder_ / "d").string()},
                                        .split = "1",
                                        .sequence_length = 4,
                                        .requested = {1, 0, 0}})
                              .train,
                          {.vocab_size = 10, .eod = 9, .eod_mask_loss = mask});
    return unigram_entropy(batches, 0, 1);
  };
  EXPECT_NEAR(entropy({9, 1, 2, 3, 9}, false), std::log(4.0), 1e-12);
  EXPECT_NEAR(entropy({9, 1, 2, 3, 9}, true), std::log(3.0), 1e-12);
  EXPECT_NEAR(entropy({1, 2, 2, 2, 2}, false), 0.0, 1e-12);
}

}  // namespace
}  // namespace trireme::data
