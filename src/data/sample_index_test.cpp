#include "data/sample_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "data/sample_source.h"
#include "data/test_dataset.h"

namespace trireme::data {
namespace {

// Made by numpy.random.RandomState(1234), NumPy 1.24.2.
TEST(LegacyShuffler, DrawsAndShufflesLikeNumPy) {
  LegacyShuffler shuffler(1234);
  EXPECT_EQ(shuffler.draw(), 822569775U);
  EXPECT_EQ(shuffler.draw(), 2137449171U);
  EXPECT_EQ(shuffler.draw(), 2671936806U);
  std::vector<int32_t> values(10);
  std::iota(values.begin(), values.end(), 0);
  LegacyShuffler(1234).shuffle(std::span(values));
  EXPECT_EQ(values, (std::vector<int32_t>{7, 2, 9, 1, 0, 8, 4, 5, 6, 3}));
}

TEST(LegacyShuffler, BoundedDrawsReachBothEndsAndNoMore) {
  LegacyShuffler shuffler(1);
  for (const uint32_t most : {0U, 1U, 5U, 7U, 8U}) {
    std::map<uint32_t, int> seen;
    for (int draw = 0; draw < 1000; ++draw) ++seen[shuffler.bounded(most)];
    EXPECT_EQ(seen.size(), most + 1);
    EXPECT_EQ(seen.rbegin()->first, most);
  }
  EXPECT_LE(shuffler.bounded(~0U), ~0U);
}

struct Golden {
  SequenceRange range;
  int64_t sequence_length;
  int64_t requested;
  uint32_t seed;
  int64_t tokens;
  int64_t epochs;
  bool separate;
  std::vector<int32_t> sequences;
  std::vector<SamplePoint> points;
  std::vector<uint32_t> order;
};

const std::vector<int32_t> kLengths = {7, 3, 12, 0, 5, 9, 1, 4};

// Made with NumPy's RandomState and a transliteration of Megatron-LM's helpers (commit d98e8a64).
const std::vector<Golden> kGolden = {
    {{0, 8},
     8,
     4,
     1234,
     41,
     1,
     false,
     {2, 1, 6, 0, 4, 5, 3, 7},
     {{0, 0}, {0, 8}, {3, 0}, {4, 1}, {5, 4}, {7, 3}},
     {2, 0, 4, 3, 1}},
    {{0, 8},
     8,
     13,
     1234,
     41,
     3,
     true,
     {5, 3, 0, 4, 6, 2, 2, 7, 1, 1, 0, 4, 5, 6, 3, 7, 5, 1, 3, 4, 0, 7, 6, 2},
     {{0, 0},
      {0, 8},
      {3, 0},
      {5, 2},
      {5, 10},
      {6, 6},
      {7, 2},
      {10, 0},
      {11, 1},
      {12, 4},
      {15, 2},
      {16, 6},
      {19, 2},
      {20, 5},
      {23, 1},
      {23, 9}},
     {7, 4, 1, 5, 3, 9, 2, 8, 6, 0, 14, 11, 10, 13, 12}},
    {{2, 7},
     4,
     10,
     42,
     27,
     2,
     false,
     {5, 3, 2, 2, 4, 4, 6, 6, 5, 3},
     {{0, 0},
      {0, 4},
      {0, 8},
      {2, 3},
      {2, 7},
      {2, 11},
      {3, 3},
      {3, 7},
      {3, 11},
      {4, 3},
      {5, 2},
      {7, 0},
      {8, 3},
      {8, 7}},
     {0, 11, 9, 1, 8, 5, 12, 3, 4, 7, 10, 6, 2}},
};

TEST(SampleIndex, EqualsTheGoldenVectors) {
  for (const Golden& golden : kGolden) {
    const auto lengths = std::span(kLengths).subspan(static_cast<size_t>(golden.range.begin),
                                                     static_cast<size_t>(golden.range.size()));
    const SampleIndex index = build_sample_index(
        golden.range, lengths, {golden.sequence_length, golden.requested, golden.seed});
    EXPECT_EQ(index.tokens_per_epoch, golden.tokens);
    EXPECT_EQ(index.epochs, golden.epochs);
    EXPECT_EQ(index.separate_last_epoch, golden.separate);
    EXPECT_EQ(index.sequences, golden.sequences);
    EXPECT_TRUE(index.points == golden.points);
    EXPECT_EQ(index.order, golden.order);
  }
}

/// Random lengths, some of them 0.
std::vector<int32_t> random_lengths(LegacyShuffler& shuffler, int64_t count) {
  std::vector<int32_t> lengths;
  for (int64_t i = 0; i < count; ++i)
    lengths.push_back(static_cast<int32_t>(shuffler.bounded(3) == 0 ? 0 : shuffler.bounded(40)));
  lengths.push_back(1);
  return lengths;
}

TEST(SampleIndex, EverySequenceStandsOnceInEachEpochAndEverySampleOnceInTheOrder) {
  LegacyShuffler shuffler(7);
  int separate = 0;
  for (int round = 0; round < 200; ++round) {
    const std::vector<int32_t> lengths = random_lengths(shuffler, 1 + shuffler.bounded(30));
    const auto count = static_cast<int64_t>(lengths.size());
    const int64_t requested = 1 + shuffler.bounded(200);
    const int64_t s = 1 + shuffler.bounded(20);
    const SampleIndex index =
        build_sample_index({5, 5 + count}, lengths, {s, requested, shuffler.draw()});
    separate += index.separate_last_epoch ? 1 : 0;
    EXPECT_GE(index.samples(), requested);
    EXPECT_GE(index.epochs * index.tokens_per_epoch, requested * s + 1);
    if (index.epochs > 1) {
      EXPECT_LT((index.epochs - 1) * index.tokens_per_epoch, requested * s + 1);
    }
    std::map<int32_t, int64_t> visits;
    for (const int32_t sequence : index.sequences) ++visits[sequence];
    EXPECT_EQ(static_cast<int64_t>(visits.size()), count);
    for (const auto& [sequence, times] : visits) {
      EXPECT_TRUE(sequence >= 5 && sequence < 5 + count);
      EXPECT_EQ(times, index.epochs);
    }
    std::vector<uint32_t> order = index.order;
    std::sort(order.begin(), order.end());
    for (size_t i = 0; i < order.size(); ++i) EXPECT_EQ(order[i], i);
    if (index.separate_last_epoch) {
      // The last epoch is whole behind the others.
      std::vector<int32_t> last(index.sequences.end() - count, index.sequences.end());
      std::sort(last.begin(), last.end());
      for (int64_t i = 0; i < count; ++i) EXPECT_EQ(last[static_cast<size_t>(i)], 5 + i);
    }
  }
  EXPECT_GT(separate, 10);
  EXPECT_LT(separate, 190);
}

TEST(SampleIndex, SamplesTileTheStreamWithOneSharedToken) {
  LegacyShuffler shuffler(8);
  for (int round = 0; round < 200; ++round) {
    const std::vector<int32_t> lengths = random_lengths(shuffler, 1 + shuffler.bounded(30));
    const int64_t s = 1 + shuffler.bounded(50);
    const SampleIndex index = build_sample_index({0, static_cast<int64_t>(lengths.size())}, lengths,
                                                 {s, 1 + shuffler.bounded(50), shuffler.draw()});
    // Place of a point in the stream of tokens.
    std::vector<int64_t> starts = {0};
    for (const int32_t sequence : index.sequences)
      starts.push_back(starts.back() + lengths[static_cast<size_t>(sequence)]);
    for (size_t row = 0; row < index.points.size(); ++row) {
      const SamplePoint point = index.points[row];
      EXPECT_EQ(starts[point.position] + point.offset, static_cast<int64_t>(row) * s);
      EXPECT_LT(point.offset,
                std::max(1, lengths[static_cast<size_t>(index.sequences[point.position])]));
    }
    EXPECT_GT(starts.back(), index.samples() * s);        // the last sample has its label
    EXPECT_LE(starts.back(), (index.samples() + 1) * s);  // and there is no room for another one
  }
}

TEST(SampleIndex, WithoutARequestIsOneEpoch) {
  const SampleIndex index = build_sample_index({0, 8}, kLengths, {8, std::nullopt, 1});
  EXPECT_EQ(index.epochs, 1);
  EXPECT_EQ(index.samples(), 5);
}

TEST(SampleIndex, RunsThatPassItsTypesAreRefusedBeforeTheyAreBuilt) {
  const std::vector<int32_t> lengths = {2};
  EXPECT_NE(error_of([&] {
              static_cast<void>(build_sample_index({0, 1}, lengths, {1, int64_t{1} << 62, 1}));
            }),
            "");
  EXPECT_NE(error_of([&] {
              static_cast<void>(build_sample_index({0, 1}, lengths, {4, int64_t{1} << 62, 1}));
            }),
            "");
  const std::vector<int32_t> none = {0, 0};
  EXPECT_TRUE(contains(error_of([&] {
                         static_cast<void>(build_sample_index({0, 2}, none, {4, 1, 1}));
                       }),
                       "no token"));
}

TEST(Split, FollowsMegatronsBounds) {
  using Ranges = std::array<SequenceRange, 3>;
  EXPECT_EQ(split_ranges("969, 30, 1", 1000), (Ranges{{{0, 969}, {969, 999}, {999, 1000}}}));
  EXPECT_EQ(split_ranges("949,50,1", 8), (Ranges{{{0, 8}, {8, 8}, {8, 8}}}));
  EXPECT_EQ(split_ranges("1", 7), (Ranges{{{0, 7}, {7, 7}, {7, 7}}}));
  EXPECT_EQ(split_ranges("0 .5 .5", 4), (Ranges{{{0, 0}, {0, 2}, {2, 4}}}));
  // Half to even: 2.5 becomes 2, 3.5 becomes 4.
  EXPECT_EQ(split_ranges("1,1", 5), (Ranges{{{0, 2}, {2, 5}, {5, 5}}}));
  EXPECT_EQ(split_ranges("1:1", 7), (Ranges{{{0, 4}, {4, 7}, {7, 7}}}));
}

TEST(Split, CoversAllSequencesOnceForAnyWeights) {
  LegacyShuffler shuffler(3);
  for (int round = 0; round < 500; ++round) {
    const int64_t sequences = shuffler.bounded(100000);
    const std::string weights =
        std::to_string(shuffler.bounded(1000)) + "," + std::to_string(shuffler.bounded(100)) + "." +
        std::to_string(shuffler.bounded(99)) + "," + std::to_string(1 + shuffler.bounded(5));
    const auto ranges = split_ranges(weights, sequences);
    EXPECT_EQ(ranges[0].begin, 0);
    EXPECT_EQ(ranges[0].end, ranges[1].begin);
    EXPECT_EQ(ranges[1].end, ranges[2].begin);
    EXPECT_EQ(ranges[2].end, sequences) << weights;
  }
}

TEST(Split, RefusesWhatIsNoWeight) {
  for (const char* weights : {"", ",", "0,0,0", "1,2,3,4", "-1,2", "1e3,1", "nan", "1,x", "1..2",
                              "inf,1", "1.2.3", "969;30;1"}) {
    EXPECT_TRUE(
        contains(error_of([&] { static_cast<void>(split_ranges(weights, 10)); }), "--split"))
        << weights;
  }
}

TEST(RequestedSamples, CountValidationsOnTheWayAndAtTheEnd) {
  EXPECT_EQ(requested_samples({.train_iterations = 25,
                               .global_batch_size = 4,
                               .eval_interval = 10,
                               .eval_iterations = 3}),
            (RequestedSamples{100, 36, 12}));
  EXPECT_EQ(requested_samples({.train_samples = 103,
                               .global_batch_size = 4,
                               .eval_interval = 10,
                               .eval_iterations = 3}),
            (RequestedSamples{103, 36, 12}));
  EXPECT_EQ(requested_samples({.train_iterations = 25, .global_batch_size = 4}),
            (RequestedSamples{100, 0, 0}));
  EXPECT_NE(error_of([] {
              static_cast<void>(requested_samples(
                  {.train_iterations = int64_t{1} << 60, .global_batch_size = 64}));
            }),
            "");
}

using SampleSourceTest = FolderTest;

TEST_F(SampleSourceTest, SamplesAreTheTokensOfTheShuffledStream) {
  // Token t of the file is t, so a sample shows where it was read.
  write_files(folder_ / "d", plain_files(counting_documents({7, 3, 12, 0, 5, 9, 1, 4}), 8, 2));
  const auto dataset = std::make_shared<const IndexedDataset>(folder_ / "d");
  const IndexedSamples samples(dataset, {0, 8}, {8, 13, 1234}, "train");
  const std::vector<int64_t> first = {0, 7, 10, 22, 22, 27, 36, 37};
  std::vector<int32_t> stream;
  for (const int32_t sequence : samples.index().sequences) {
    for (int64_t i = 0; i < dataset->length(sequence); ++i)
      stream.push_back(static_cast<int32_t>(first[static_cast<size_t>(sequence)] + i));
  }
  std::vector<int32_t> tokens(9);
  for (int64_t k = 0; k < samples.samples(); ++k) {
    samples.read(k, tokens);
    const auto at = stream.begin() + 8 * samples.index().order[static_cast<size_t>(k)];
    EXPECT_TRUE(std::equal(tokens.begin(), tokens.end(), at)) << k;
  }
}

TEST_F(SampleSourceTest, OriginNamesFileSequenceAndTokenOfEveryPlace) {
  const std::vector<int64_t> lengths = {7, 3, 12, 0, 5, 9, 1, 4};
  write_files(folder_ / "d", plain_files(counting_documents(lengths), 8, 2));
  const IndexedSamples samples(std::make_shared<const IndexedDataset>(folder_ / "d"), {0, 8},
                               {8, 13, 1234}, "train");
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

TEST_F(SampleSourceTest, PartsOfASplitReadTheirOwnSequencesOnly) {
  write_files(folder_ / "d", plain_files(counting_documents(std::vector<int64_t>(20, 10)), 8, 2));
  const SplitSources sources = open_sources({.data_path = {(folder_ / "d").string()},
                                             .split = "50,30,20",
                                             .sequence_length = 4,
                                             .requested = {100, 0, 7}});
  EXPECT_EQ(sources.valid, nullptr);
  std::vector<int32_t> tokens(5);
  for (int64_t k = 0; k < sources.train->samples(); ++k) {
    sources.train->read(k, tokens);
    for (const int32_t token : tokens) EXPECT_LT(token, 100);
  }
  EXPECT_GE(sources.test->samples(), 7);
  for (int64_t k = 0; k < sources.test->samples(); ++k) {
    sources.test->read(k, tokens);
    for (const int32_t token : tokens) EXPECT_GE(token, 160);
  }
}

TEST_F(SampleSourceTest, PartsThatAreEmptyOrTooShortAreRefusedByName) {
  write_files(folder_ / "d", plain_files(counting_documents({10, 10, 10}), 8, 2));
  const auto open = [&](int64_t s, RequestedSamples requested) {
    return error_of([&] {
      static_cast<void>(open_sources(
          {.data_path = {(folder_ / "d").string()}, .sequence_length = s, .requested = requested}));
    });
  };
  EXPECT_EQ(open(4, {100, 0, 0}), "");
  EXPECT_TRUE(contains(open(4, {100, 1, 0}), "validation part: the split leaves it none"));
  EXPECT_EQ(open(29, {100, 0, 0}), "");
  EXPECT_TRUE(contains(open(30, {100, 0, 0}), "has 30 tokens in 3 sequences"));
  EXPECT_TRUE(contains(error_of([] {
                         static_cast<void>(open_sources({.data_path = {"a", "b"}}));
                       }),
                       "--data-path: has 2 items"));
}

}  // namespace
}  // namespace trireme::data
