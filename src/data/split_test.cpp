#include "data/split.h"

#include <gtest/gtest.h>

#include "data/legacy_shuffler.h"
#include "data/test_dataset.h"

namespace trireme::data {
namespace {

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

}  // namespace
}  // namespace trireme::data
