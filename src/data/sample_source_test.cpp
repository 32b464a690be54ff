#include "data/sample_source.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "data/test_dataset.h"

namespace trireme::data {
namespace {

using SampleSourceTest = FolderTest;

TEST_F(SampleSourceTest, SamplesAreTheTokensOfTheShuffledStream) {
  // Token t of the file is t, so a sample shows where it was read.
  write_files(folder_ / "d", plain_files(counting_documents({7, 3, 12, 0, 5, 9, 1, 4}), 8, 2));
  const auto dataset = std::make_shared<const IndexedDataset>(folder_ / "d");
  ThreadPool pool(2);
  const IndexedSamples samples(dataset, {0, 8}, Part::train, {8, 13, 1234}, nullptr, pool);
  const std::vector<int64_t> first = {0, 7, 10, 22, 22, 27, 36, 37};
  std::vector<int32_t> stream;
  for (const int32_t sequence : samples.index().sequences()) {
    for (int64_t i = 0; i < dataset->length(sequence); ++i)
      stream.push_back(static_cast<int32_t>(first[static_cast<size_t>(sequence)] + i));
  }
  std::vector<int32_t> tokens(9);
  for (int64_t k = 0; k < samples.samples(); ++k) {
    samples.read(k, tokens);
    const auto at = stream.begin() + 8 * samples.index().row(k);
    EXPECT_TRUE(std::equal(tokens.begin(), tokens.end(), at)) << k;
  }
}

TEST_F(SampleSourceTest, OriginNamesFileSequenceAndTokenOfEveryPlace) {
  const std::vector<int64_t> lengths = {7, 3, 12, 0, 5, 9, 1, 4};
  write_files(folder_ / "d", plain_files(counting_documents(lengths), 8, 2));
  ThreadPool pool(2);
  const IndexedSamples samples(std::make_shared<const IndexedDataset>(folder_ / "d"), {0, 8},
                               Part::train, {8, 13, 1234}, nullptr, pool);
  std::vector<std::string> place_of_token;
  for (size_t sequence = 0; sequence < lengths.size(); ++sequence) {
    for (int64_t i = 0; i < lengths[sequence]; ++i) {
      place_of_token.push_back((folder_ / "d.bin").string() + ": token " + std::to_string(i) +
                               " of sequence " + std::to_string(sequence));
    }
  }
  std::vector<int32_t> tokens(9);
  for (int64_t k = 0; k < samples.samples(); ++k) {
    samples.read(k, tokens);
    for (int64_t offset = 0; offset < 9; ++offset) {
      EXPECT_EQ(samples.origin(k, offset),
                place_of_token[static_cast<size_t>(tokens[static_cast<size_t>(offset)])]);
    }
  }
}

TEST(MockSamples, AreTheSameForEachAskerAndOtherForEachPart) {
  const MockSamples::Options options = {
      .vocab_size = 50, .sequence_length = 1001, .samples = 40, .seed = 3};
  const MockSamples samples(options);
  MockSamples::Options other = options;
  other.part = Part::validation;
  std::vector<int32_t> row(1002);
  std::vector<int32_t> again(1002);
  std::vector<int64_t> times(50);
  for (int64_t k = 0; k < samples.samples(); ++k) {
    samples.read(k, row);
    MockSamples(options).read(k, again);
    EXPECT_EQ(row, again);
    MockSamples(other).read(k, again);
    EXPECT_NE(row, again);
    for (const int32_t token : row) ++times.at(static_cast<size_t>(token));
  }
  // Each word about 800 times of 40,080: within five standard deviations.
  for (const int64_t n : times) EXPECT_NEAR(static_cast<double>(n), 801.6, 5 * 28.3);
}

}  // namespace
}  // namespace trireme::data
