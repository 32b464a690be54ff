#include "data/sample_index.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <vector>

#include "data/legacy_shuffler.h"
#include "data/test_dataset.h"

namespace trireme::data {
namespace {

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
  std::vector<int64_t> order;
};

SampleIndex build(SequenceRange range, std::span<const int32_t> lengths, const SampleOrder& order,
                  int threads = 2) {
  ThreadPool pool(threads);
  const int64_t tokens = std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
  return build_sample_index(plan_index(range, tokens, order), lengths, pool);
}

std::vector<int32_t> sequences_of(const SampleIndex& index) {
  return {index.sequences().begin(), index.sequences().end()};
}
std::vector<SamplePoint> points_of(const SampleIndex& index) {
  std::vector<SamplePoint> points;
  for (int64_t row = 0; row <= index.samples(); ++row) points.push_back(index.point(row));
  return points;
}
std::vector<int64_t> order_of(const SampleIndex& index) {
  std::vector<int64_t> order;
  for (int64_t k = 0; k < index.samples(); ++k) order.push_back(index.row(k));
  return order;
}

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
    const SampleIndex index =
        build(golden.range, lengths, {golden.sequence_length, golden.requested, golden.seed});
    EXPECT_EQ(index.plan().tokens_per_epoch, golden.tokens);
    EXPECT_EQ(index.plan().epochs.epochs, golden.epochs);
    EXPECT_EQ(index.plan().epochs.separate_last_epoch, golden.separate);
    EXPECT_EQ(sequences_of(index), golden.sequences);
    EXPECT_TRUE(points_of(index) == golden.points);
    EXPECT_EQ(order_of(index), golden.order);
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
    const std::vector<int32_t> lengths =
        random_lengths(shuffler, int64_t(1 + shuffler.bounded(30)));
    const auto count = static_cast<int64_t>(lengths.size());
    const auto requested = static_cast<int64_t>(1 + shuffler.bounded(200));
    const auto s = static_cast<int64_t>(1 + shuffler.bounded(20));
    const SampleIndex index = build({5, 5 + count}, lengths, {s, requested, shuffler.draw()});
    const EpochPlan& epochs = index.plan().epochs;
    const int64_t tokens = index.plan().tokens_per_epoch;
    separate += epochs.separate_last_epoch ? 1 : 0;
    EXPECT_GE(index.samples(), requested);
    EXPECT_GE(epochs.epochs * tokens, requested * s + 1);
    if (epochs.epochs > 1) {
      EXPECT_LT((epochs.epochs - 1) * tokens, requested * s + 1);
    }
    std::map<int32_t, int64_t> visits;
    for (const int32_t sequence : index.sequences()) ++visits[sequence];
    EXPECT_EQ(static_cast<int64_t>(visits.size()), count);
    for (const auto& [sequence, times] : visits) {
      EXPECT_TRUE(sequence >= 5 && sequence < 5 + count);
      EXPECT_EQ(times, epochs.epochs);
    }
    std::vector<int64_t> order = order_of(index);
    std::sort(order.begin(), order.end());
    for (size_t i = 0; i < order.size(); ++i) EXPECT_EQ(order[i], static_cast<int64_t>(i));
    if (epochs.separate_last_epoch) {
      // The last epoch is whole behind the others.
      std::vector<int32_t> last(index.sequences().end() - count, index.sequences().end());
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
    const std::vector<int32_t> lengths =
        random_lengths(shuffler, int64_t(1 + shuffler.bounded(30)));
    const auto s = static_cast<int64_t>(1 + shuffler.bounded(50));
    const auto requested = static_cast<int64_t>(1 + shuffler.bounded(50));
    const SampleIndex index =
        build({0, static_cast<int64_t>(lengths.size())}, lengths, {s, requested, shuffler.draw()});
    // Place of a point in the stream of tokens.
    std::vector<int64_t> starts = {0};
    for (const int32_t sequence : index.sequences())
      starts.push_back(starts.back() + lengths[static_cast<size_t>(sequence)]);
    for (int64_t row = 0; row <= index.samples(); ++row) {
      const SamplePoint point = index.point(row);
      const auto position = static_cast<size_t>(point.position);
      EXPECT_EQ(starts[position] + point.offset, row * s);
      EXPECT_LT(point.offset,
                std::max(1, lengths[static_cast<size_t>(index.sequences()[position])]));
    }
    EXPECT_GT(starts.back(), index.samples() * s);        // the last sample has its label
    EXPECT_LE(starts.back(), (index.samples() + 1) * s);  // and there is no room for another one
  }
}

TEST(SampleIndex, WithoutARequestIsOneEpoch) {
  const SampleIndex index = build({0, 8}, kLengths, {8, std::nullopt, 1});
  EXPECT_EQ(index.plan().epochs.epochs, 1);
  EXPECT_EQ(index.samples(), 5);
}

TEST(SampleIndex, RunsThatPassItsTypesAreRefusedBeforeTheyAreBuilt) {
  const auto refusal = [](SequenceRange range, int64_t tokens, const SampleOrder& order) {
    return error_of([&] { static_cast<void>(plan_index(range, tokens, order)); });
  };
  EXPECT_TRUE(contains(refusal({0, 2}, 0, {4, 1, 1}), "hold no token"));
  EXPECT_TRUE(contains(refusal({0, 1}, 2, {4, int64_t{1} << 62, 1}), "63 bits"));
  EXPECT_TRUE(contains(refusal({0, 1}, 2, {1, int64_t{1} << 62, 1}), "sequences"));
  EXPECT_TRUE(contains(refusal({0, int64_t{1} << 31}, 5, {1, 1, 1}), "at most 2147483647"));
  EXPECT_TRUE(contains(refusal({0, 1 << 30}, 1 << 30, {1, int64_t{1} << 34, 1}), "8589934592"));
  EXPECT_TRUE(contains(refusal({0, 1}, int64_t{1} << 50, {1, 1, 1}), "a run has at most"));
  EXPECT_EQ(refusal({0, 1 << 30}, 1 << 30, {1, (int64_t{1} << 33) - 1, 1}), "");
}

TEST(SampleIndex, HasWideOrdersAndPositionsWhere32BitsEnd) {
  // 5 * 2^30 positions and nearly as many samples, planned but not built: 20 + 40 + 40 GiB.
  const IndexPlan plan = plan_index({0, 1 << 30}, 1 << 30, {1, (int64_t{5} << 30) - 1, 1});
  EXPECT_EQ(plan.positions(), int64_t{5} << 30);
  const IndexLayout layout(plan);
  EXPECT_TRUE(layout.wide_order);
  EXPECT_EQ(layout.bytes, 4 * plan.positions() + 8 * (plan.samples() + 1) + 8 * plan.samples());
  EXPECT_FALSE(IndexLayout(plan_index({0, 9}, 90, {1, 5, 1})).wide_order);

  // A made-up index of that plan, of which only the touched pages exist.
  const std::shared_ptr<std::byte> arrays(
      static_cast<std::byte*>(::mmap(nullptr, static_cast<size_t>(layout.bytes),
                                     PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)),
      [&](std::byte* at) { ::munmap(at, static_cast<size_t>(layout.bytes)); });
  ASSERT_NE(static_cast<void*>(arrays.get()), MAP_FAILED);
  const SampleIndex index(plan, arrays);
  const int64_t row = index.samples() - 3;
  const auto put = [&](int64_t offset, uint64_t value) {
    std::memcpy(arrays.get() + offset, &value, sizeof(value));
  };
  put(layout.order + 8 * 7, static_cast<uint64_t>(row));
  put(layout.points + 8 * row, static_cast<uint64_t>(plan.positions() - 1) << 31 | 0x7ffffffe);
  EXPECT_EQ(index.row(7), row);
  EXPECT_EQ(index.point(row), (SamplePoint{plan.positions() - 1, 0x7ffffffe}));
}

TEST(SampleIndex, IsTheSameForAnyNumberOfThreads) {
  LegacyShuffler shuffler(11);
  std::vector<int32_t> lengths;
  for (int i = 0; i < 60000; ++i) lengths.push_back(static_cast<int32_t>(shuffler.bounded(200)));
  const SampleOrder order = {77, 200000, 5};
  const SampleIndex one = build({0, 60000}, lengths, order, 1);
  for (const int threads : {2, 3, 7}) {
    const SampleIndex many = build({0, 60000}, lengths, order, threads);
    EXPECT_TRUE(std::equal(one.bytes().begin(), one.bytes().end(), many.bytes().begin(),
                           many.bytes().end()));
  }
}

}  // namespace
}  // namespace trireme::data
