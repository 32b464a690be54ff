#include "core/random.h"

#include <gtest/gtest.h>

#include <cmath>

namespace trireme {
namespace {

// Vectors published with the Random123 library (kat_vectors, philox4x32 10).
TEST(Philox, MatchesThePublishedVectors) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (RandomBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (RandomBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (RandomBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomStream, DependsOnEveryCoordinate) {
  const RandomStream base{.seed = 1, .site = RandomSite::mlp_dropout, .layer = 2, .sample = 3};
  const auto with = [&](auto change) {
    RandomStream stream = base;
    change(stream);
    return stream.bits(5);
  };
  EXPECT_NE(base.bits(5), base.bits(6));
  EXPECT_NE(base.bits(5), with([](auto& s) { s.seed = 2; }));
  EXPECT_NE(base.bits(5), with([](auto& s) { s.site = RandomSite::attention_dropout; }));
  EXPECT_NE(base.bits(5), with([](auto& s) { s.layer = 3; }));
  EXPECT_NE(base.bits(5), with([](auto& s) { s.sample = 4; }));
  EXPECT_NE(base.bits(5), with([](auto& s) { s.sample = 3 + (uint64_t{1} << 32); }));
}

TEST(RandomStream, PutsLayerAndSampleIntoTheUpperCounterWords) {
  const RandomStream stream{
      .seed = 7, .site = RandomSite::init_qkv, .layer = 0xABCDEF, .sample = 0x123456789A};
  EXPECT_EQ(stream.block(0x1122334455667788),
            philox4x32({0x55667788, 0x11223344, 0x9AABCDEF, 0x12345678}, {7, 18}));
}

TEST(DropThreshold, IsTheRoundedShareOfAllBitPatterns) {
  EXPECT_EQ(drop_threshold(0), 0U);
  EXPECT_EQ(drop_threshold(0.5), 0x80000000U);
  EXPECT_EQ(drop_threshold(0.1), 429496730U);
}

TEST(NormalPair, AgreesWithTheLibraryToFloatPrecision) {
  const RandomStream stream{.seed = 3, .site = RandomSite::init_fc1};
  for (uint64_t i = 0; i < 2000; ++i) {
    const RandomBlock bits = stream.block(i);
    const auto [a, b] = normal_pair(bits[0], bits[1]);
    const double radius = std::sqrt(-2 * std::log((bits[0] + 0.5) * 0x1p-32));
    const double angle = 2 * M_PI * bits[1] * 0x1p-32;
    EXPECT_NEAR(a, radius * std::cos(angle), 4e-7) << i;
    EXPECT_NEAR(b, radius * std::sin(angle), 4e-7) << i;
  }
}

TEST(Normal, HasMeanZeroVarianceOneAndNormalTails) {
  const RandomStream stream{.seed = 9, .site = RandomSite::init_fc2};
  constexpr int kCount = 200000;
  double sum = 0;
  double squares = 0;
  int beyond_two = 0;
  for (int i = 0; i < kCount; ++i) {
    const double x = normal(stream, static_cast<uint64_t>(i));
    sum += x;
    squares += x * x;
    beyond_two += std::abs(x) > 2 ? 1 : 0;
  }
  EXPECT_NEAR(sum / kCount, 0, 4 / std::sqrt(kCount));
  EXPECT_NEAR(squares / kCount, 1, 4 * std::sqrt(2.0 / kCount));
  EXPECT_NEAR(beyond_two / double{kCount}, 0.0455, 0.002);
}

TEST(Uniform, StaysInsideTheOpenInterval) {
  EXPECT_GT(uniform(0), 0.0F);
  EXPECT_LT(uniform(0xffffffff), 1.0F);
}

}  // namespace
}  // namespace trireme
