#include "data/blend.h"

#include <gtest/gtest.h>

#include "data/legacy_shuffler.h"
#include "data/test_dataset.h"

namespace trireme::data {
namespace {

using Place = BlendIndex::Place;

std::vector<Place> places_of(const BlendIndex& index) {
  std::vector<Place> places;
  for (int64_t k = 0; k < index.samples(); ++k) places.push_back(index[k]);
  return places;
}

TEST(Blend, EqualsTheGoldenVectorOfMegatron) {
  // By a transliteration of Megatron-LM's helper.
  const BlendIndex index = BlendIndex::by_weights(std::vector<double>{0.3, 0.5, 0.2}, 12);
  EXPECT_EQ(places_of(index), (std::vector<Place>{{1, 0},
                                                  {0, 0},
                                                  {2, 0},
                                                  {1, 1},
                                                  {0, 1},
                                                  {1, 2},
                                                  {2, 1},
                                                  {1, 3},
                                                  {0, 2},
                                                  {1, 4},
                                                  {0, 3},
                                                  {1, 5}}));
  EXPECT_EQ(index.used(12), (std::vector<int64_t>{4, 6, 2}));
  EXPECT_EQ(index.used(0), (std::vector<int64_t>{0, 0, 0}));
}

struct Golden {
  int datasets;
  double first;
  double last;
  uint64_t digest;
};

// Weights 1/(i + 1), 5000 samples: tools/golden_blend.py, with NumPy 2.4.6.
constexpr Golden kGolden[] = {
    {2, 0x1.5555555555555p-1, 0x1.5555555555555p-2, 0xc30a3ebb251fad3d},
    {7, 0x1.8aee5e805a453p-2, 0x1.c3599092b04f0p-5, 0xfd809d7e4c9f346f},
    {8, 0x1.78c4751128082p-2, 0x1.78c4751128082p-5, 0x89bbf4647edb3c5e},
    {9, 0x1.69f82bf413f74p-2, 0x1.41c02711d8dbdp-5, 0xebda0f9e42a31648},
    {20, 0x1.1c9f86ddae7d4p-2, 0x1.c765a495e3fbbp-7, 0x95ce8095d2a281e5},
    {128, 0x1.78f2081902c94p-3, 0x1.78f2081902c94p-10, 0x5ea119ecad53d0f2},
    {129, 0x1.78688bb6cb12bp-3, 0x1.757d90959fd31p-10, 0x63c3057fbc34c337},
    {300, 0x1.45f9f3be2ac8ap-3, 0x1.162aa0350c9d9p-11, 0x952fd33e9cf4c6da},
    {1001, 0x1.118f6794bdfd4p-3, 0x1.17d8848ef3f81p-13, 0x9da5c8c36caad7e8},
};

TEST(Blend, OfManyDatasetsEqualsPlainPythonAndNumPyToTheBit) {
  for (const Golden& golden : kGolden) {
    std::vector<double> weights;
    for (int i = 0; i < golden.datasets; ++i) weights.push_back(1.0 / (i + 1));
    const std::vector<double> shares = normalised_weights(weights);
    EXPECT_EQ(shares.front(), golden.first) << golden.datasets;
    EXPECT_EQ(shares.back(), golden.last) << golden.datasets;
    uint64_t digest = 0xCBF29CE484222325;
    for (const Place& place : places_of(BlendIndex::by_weights(shares, 5000))) {
      for (const int64_t number : {place.dataset, place.sample})
        digest = (digest ^ static_cast<uint64_t>(number)) * 0x100000001B3;
    }
    EXPECT_EQ(digest, golden.digest) << golden.datasets;
  }
}

TEST(Blend, WithoutWeightsTakesEachSampleOnceAndEqualsPlainPython) {
  const std::vector<int64_t> sizes = {17, 3, 40, 1, 17};
  const BlendIndex index = BlendIndex::by_sizes(sizes, 78);
  EXPECT_EQ(
      places_of(index),
      (std::vector<Place>{
          {2, 0},  {0, 0},  {4, 0},  {2, 1},  {1, 0},  {2, 2},  {0, 1},  {2, 3},  {4, 1},  {2, 4},
          {0, 2},  {2, 5},  {4, 2},  {2, 6},  {3, 0},  {2, 7},  {0, 3},  {2, 8},  {4, 3},  {2, 9},
          {0, 4},  {2, 10}, {4, 4},  {2, 11}, {2, 12}, {0, 5},  {4, 5},  {2, 13}, {2, 14}, {0, 6},
          {4, 6},  {2, 15}, {2, 16}, {1, 1},  {2, 17}, {0, 7},  {4, 7},  {2, 18}, {2, 19}, {0, 8},
          {4, 8},  {2, 20}, {2, 21}, {0, 9},  {4, 9},  {2, 22}, {2, 23}, {0, 10}, {2, 24}, {4, 10},
          {2, 25}, {2, 26}, {0, 11}, {4, 11}, {2, 27}, {2, 28}, {0, 12}, {4, 12}, {2, 29}, {1, 2},
          {2, 30}, {0, 13}, {2, 31}, {4, 13}, {2, 32}, {2, 33}, {0, 14}, {4, 14}, {2, 34}, {2, 35},
          {0, 15}, {4, 15}, {2, 36}, {2, 37}, {0, 16}, {2, 38}, {4, 16}, {2, 39}}));
  EXPECT_EQ(index.used(78), sizes);
  // A shorter run sees the front of the same order.
  const std::vector<Place> all = places_of(index);
  EXPECT_EQ(places_of(BlendIndex::by_sizes(sizes, 30)),
            std::vector<Place>(all.begin(), all.begin() + 30));
}

TEST(Blend, TiesGoToTheFirstAndSharesAreKeptToOneSample) {
  EXPECT_EQ(places_of(BlendIndex::by_weights(std::vector<double>{0.5, 0.5}, 4)),
            (std::vector<Place>{{0, 0}, {1, 0}, {0, 1}, {1, 1}}));
  LegacyShuffler random(4);
  for (int round = 0; round < 50; ++round) {
    std::vector<double> weights(1 + random.bounded(40));
    for (double& weight : weights) weight = static_cast<double>(1 + random.bounded(1000));
    const std::vector<double> shares = normalised_weights(weights);
    const auto samples = static_cast<int64_t>(1 + random.bounded(5000));
    const BlendIndex index = BlendIndex::by_weights(shares, samples);
    std::vector<int64_t> used(weights.size());
    for (int64_t k = 0; k < samples; ++k) {
      const Place place = index[k];
      EXPECT_EQ(place.sample, used[static_cast<size_t>(place.dataset)]++);
    }
    EXPECT_EQ(index.used(samples), used);
    const BlendSizes sizes = blend_sizes(shares, samples);
    EXPECT_GE(sizes.samples(), samples);
    for (size_t i = 0; i < used.size(); ++i) {
      EXPECT_LE(used[i], sizes.built[i] + 1);
      EXPECT_NEAR(static_cast<double>(used[i]), shares[i] * static_cast<double>(samples),
                  static_cast<double>(weights.size()));
    }
  }
}

TEST(Blend, SizesAreShareRoundedUpAndHalfAPercentMore) {
  const BlendSizes sizes = blend_sizes(std::vector<double>{0.3, 0.5, 0.2}, 12);
  EXPECT_EQ(sizes.wanted, (std::vector<int64_t>{4, 6, 3}));
  EXPECT_EQ(sizes.built, (std::vector<int64_t>{5, 7, 4}));
  EXPECT_EQ(sizes.samples(), 13);
  EXPECT_EQ(blend_sizes(std::vector<double>{0.5}, 2000).built[0], 1005);
}

TEST(DataPath, IsReadByMegatronsRule) {
  const auto parse = [](std::vector<std::string> items) {
    return parse_blend(items, "--data-path");
  };
  EXPECT_EQ(parse({"a"}).prefixes, (std::vector<Path>{"a"}));
  EXPECT_FALSE(parse({"a"}).weighted());
  EXPECT_FALSE(parse({"a", "b"}).weighted());
  EXPECT_FALSE(parse({"a", "b", "c"}).weighted());
  const Blend blend = parse({"0.3", "a", "1e2", "b"});
  EXPECT_EQ(blend.prefixes, (std::vector<Path>{"a", "b"}));
  EXPECT_EQ(blend.weights, (std::vector<double>{0.3, 100}));
  // A dataset may have a number for a name.
  EXPECT_EQ(parse({"1", "2", "3", "4"}).prefixes, (std::vector<Path>{"2", "4"}));
  EXPECT_EQ(parse({"1"}).prefixes, (std::vector<Path>{"1"}));
  EXPECT_TRUE(parse({"1", "a"}).weighted());
}

TEST(DataPath, RefusesWeightsThatAreNone) {
  const std::vector<std::pair<std::vector<std::string>, const char*>> cases = {
      {{}, "names no dataset"},
      {{"0", "a"}, "is zero"},
      {{"0.0", "a", "1", "b"}, "is zero"},
      {{"1", "a", "-0.5", "b"}, "is negative"},
      {{"inf", "a"}, "is not finite"},
      {{"nan", "a"}, "is not finite"},
      {{"1e999", "a"}, "is not finite"},
      {{"1e308", "a", "1e308", "b"}, "the sum of the weights is not finite"},
      {{"0.3", "a", "b", "c"}, "the weight \"b\" of c is no number"},
      {{"0.3", "a", "0.7"}, "\"0.3\" stands where a prefix should"},
      {{"0.3", "a", "0.7", "b", "c"}, "\"0.3\" stands where a prefix should"},
      {{"a", "0.3", "b", "0.7"}, "\"0.3\" stands where a prefix should"},
  };
  for (const auto& [items, message] : cases) {
    try {
      static_cast<void>(parse_blend(items, "--data-path"));
      ADD_FAILURE() << message;
    } catch (const Error& error) {
      EXPECT_EQ(error.exit_status(), 2);
      EXPECT_TRUE(contains(error.what(), message)) << error.what();
      EXPECT_TRUE(contains(error.what(), "--data-path")) << error.what();
    }
  }
  const std::vector<std::string> many(32767, "a");
  EXPECT_TRUE(contains(error_of([&] { static_cast<void>(parse_blend(many, "--data-path")); }),
                       "at most 32766"));
}

using DataArgsFile = FolderTest;

TEST_F(DataArgsFile, IsWordsBetweenWhiteSpace) {
  write_quickly(folder_ / "args", " 0.3 a\n0.7\tb\n\n");
  EXPECT_EQ(read_data_args(folder_ / "args"), (std::vector<std::string>{"0.3", "a", "0.7", "b"}));
  EXPECT_TRUE(contains(error_of([&] { static_cast<void>(read_data_args(folder_ / "none")); }),
                       "none: cannot open"));
  write_quickly(folder_ / "empty", " \n");
  EXPECT_TRUE(contains(error_of([&] { static_cast<void>(read_data_args(folder_ / "empty")); }),
                       "empty: names no dataset"));
}

}  // namespace
}  // namespace trireme::data
