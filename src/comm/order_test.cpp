#include "comm/order.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "core/format.h"

namespace trireme::comm {
namespace {

std::vector<float> values(int rank, int64_t elements) {
  std::vector<float> list(static_cast<size_t>(elements));
  for (size_t i = 0; i < list.size(); ++i) {
    const auto mixed = static_cast<uint32_t>(i * 2654435761u) ^ static_cast<uint32_t>(rank * 40503);
    list[i] = std::ldexp(static_cast<float>(mixed % 65'521) - 30'000, static_cast<int>(mixed % 23));
  }
  return list;
}

TEST(Order, CutsAscendFromZeroToTheSizeAndDependOnNothingElse) {
  for (int ranks = 1; ranks <= 9; ++ranks) {
    for (const int64_t bytes : {0, 1, 4, 63, 64, 65, 1000, 4096, 1 << 20, 12'345'679}) {
      SCOPED_TRACE(format("{} bytes, {} ranks", bytes, ranks));
      EXPECT_EQ(cut(bytes, ranks, 0), 0);
      EXPECT_EQ(cut(bytes, ranks, ranks), bytes);
      for (int r = 0; r < ranks; ++r) {
        const int64_t slice = cut(bytes, ranks, r + 1) - cut(bytes, ranks, r);
        EXPECT_GE(slice, 0);
        EXPECT_LE(slice, bytes / ranks + 64) << "as equal as cache lines allow";
        EXPECT_EQ(cut(bytes, ranks, r) == bytes ? 0 : cut(bytes, ranks, r) % 64, 0);
      }
    }
  }
}

TEST(Order, AddsFromTheFirstRankToTheLastInSinglePrecision) {
  for (int ranks = 1; ranks <= 8; ++ranks) {
    for (const int64_t elements : {0, 1, 17, 2047, 2048, 2049, 10'000}) {
      std::vector<std::vector<float>> buffers;
      std::vector<const float*> sources;
      for (int r = 0; r < ranks; ++r) buffers.push_back(values(r, elements));
      for (const auto& buffer : buffers) sources.push_back(buffer.data());
      std::vector<float> expected(static_cast<size_t>(elements));
      for (size_t i = 0; i < expected.size(); ++i) {
        float sum = buffers[0][i];
        for (int r = 1; r < ranks; ++r) sum += buffers[static_cast<size_t>(r)][i];
        expected[i] = sum;
      }
      // In place, in the middle of the order.
      std::vector<float>& out = buffers[static_cast<size_t>(ranks / 2)];
      join(out.data(), sources, elements, program::Reduction::sum);
      for (size_t i = 0; i < expected.size(); ++i)
        ASSERT_EQ(std::bit_cast<uint32_t>(out[i]), std::bit_cast<uint32_t>(expected[i]))
            << "element " << i << " of " << elements << ", " << ranks << " ranks";
    }
  }
}

TEST(Order, AnotherOrderWouldHaveOtherBits) {
  const std::vector<float> first = {1e8F};
  const std::vector<float> second = {1};
  const std::vector<float> third = {-1e8F};
  float ascending = 0;
  float other = 0;
  const std::vector<const float*> up = {first.data(), second.data(), third.data()};
  const std::vector<const float*> down = {third.data(), first.data(), second.data()};
  join(&ascending, up, 1, program::Reduction::sum);
  join(&other, down, 1, program::Reduction::sum);
  EXPECT_EQ(ascending, 0);
  EXPECT_EQ(other, 1);
}

TEST(Order, KeepsTheLargestAndWhatIsNotANumber) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> first = {1, -5, nan, 2, -std::numeric_limits<float>::infinity()};
  const std::vector<float> second = {3, -7, 4, nan, -1e30F};
  std::vector<float> out(first.size());
  const std::vector<const float*> sources = {first.data(), second.data()};
  join(out.data(), sources, 5, program::Reduction::maximum);
  EXPECT_EQ(out[0], 3);
  EXPECT_EQ(out[1], -5);
  EXPECT_TRUE(std::isnan(out[2]));
  EXPECT_TRUE(std::isnan(out[3]));
  EXPECT_EQ(out[4], -1e30F);
}

}  // namespace
}  // namespace trireme::comm
