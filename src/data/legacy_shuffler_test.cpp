#include "data/legacy_shuffler.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <random>
#include <vector>

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

/// The definition, word for word.
template <class T>
void plain_shuffle(std::mt19937& generator, std::vector<T>& values) {
  for (size_t i = values.size(); i-- > 1;) {
    uint64_t mask = i;
    for (const int shift : {1, 2, 4, 8, 16}) mask |= mask >> shift;
    uint64_t place = generator() & mask;
    while (place > i) place = generator() & mask;
    std::swap(values[i], values[place]);
  }
}

TEST(LegacyShuffler, ShufflesOfAllSizesAndTypesEqualTheDefinitionFromOneGenerator) {
  for (const uint32_t seed : {0U, 1U, 1234U, ~0U}) {
    LegacyShuffler shuffler(seed);
    std::mt19937 generator(seed);  // its seeding is init_genrand, by the standard
    for (const size_t size : {0U, 1U, 2U, 3U, 127U, 128U, 129U, 130U, 257U, 1000U, 70000U}) {
      std::vector<int32_t> values(size);
      std::iota(values.begin(), values.end(), 0);
      std::vector<int32_t> expected = values;
      std::vector<uint64_t> wide(values.begin(), values.end());
      shuffler.shuffle(std::span(values));
      plain_shuffle(generator, expected);
      ASSERT_EQ(values, expected) << size;
      shuffler.shuffle(std::span(wide));
      std::vector<uint64_t> wide_expected(size);
      std::iota(wide_expected.begin(), wide_expected.end(), 0);
      plain_shuffle(generator, wide_expected);
      ASSERT_EQ(wide, wide_expected) << size;
    }
  }
}

TEST(LegacyShuffler, BoundsAbove32BitTakeTwoWordsTheHigherFirst) {
  const uint64_t most = (uint64_t{1} << 40) + 5;
  LegacyShuffler shuffler(99);
  std::mt19937 generator(99);
  for (int draw = 0; draw < 100; ++draw) {
    uint64_t value = 0;
    do {
      const uint64_t high = generator();
      value = (high << 32 | generator()) & ((uint64_t{1} << 41) - 1);
    } while (value > most);
    EXPECT_EQ(shuffler.bounded(most), value);
  }
}

}  // namespace
}  // namespace trireme::data
