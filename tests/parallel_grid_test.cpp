// The whole grid of cuts; split into shards, which run side by side.

#include <gtest/gtest.h>

#include <set>

#include "parallel_check.h"

namespace trireme {
namespace {

using grid::Factor;
using grid::kFactors;
using grid::kLevels;

constexpr int kCasesOfOrder = 6;

// Each order several times, everything else spread over them.
std::vector<grid::Case> cases_of(const grid::Size& size, uint32_t number) {
  std::vector<grid::Case> cases;
  for (int order = 0; order < kLevels[static_cast<size_t>(Factor::order)]; ++order) {
    for (int k = 0; k < kCasesOfOrder; ++k) {
      grid::Levels levels = grid::spread(number++);
      levels[static_cast<size_t>(Factor::order)] = order;
      levels[static_cast<size_t>(Factor::scatter_gather)] = k % 2;
      cases.push_back(grid::make_case(size, levels));
    }
  }
  return cases;
}

class Grid : public testing::TestWithParam<std::tuple<uint32_t, grid::Size>> {};

TEST_P(Grid, HasTheBitsOfOneStageAndTheNumbersOfOneRank) {
  const auto& [number, size] = GetParam();
  grid::Checker checker;
  for (const grid::Case& one : cases_of(size, number)) {
    checker.check(one);
    if (HasFatalFailure()) return;
  }
}

std::vector<std::tuple<uint32_t, grid::Size>> all_sizes() {
  std::vector<std::tuple<uint32_t, grid::Size>> all;
  for (const grid::Size& size : grid::sizes(8))
    all.emplace_back(1000 * (static_cast<uint32_t>(all.size()) + 1), size);
  return all;
}

std::string name_of(const testing::TestParamInfo<Grid::ParamType>& info) {
  const grid::Size& size = std::get<1>(info.param);
  return format("p{}t{}d{}v{}", size.p, size.t, size.d, size.v);
}

INSTANTIATE_TEST_SUITE_P(EverySize, Grid, testing::ValuesIn(all_sizes()), name_of);

// Whatever two things could disturb each other met somewhere.
TEST(GridOfCases, HasEveryPairOfLevels) {
  std::set<std::array<int, 4>> met;
  for (const auto& [number, size] : all_sizes()) {
    for (const grid::Case& one : cases_of(size, number)) {
      for (int a = 0; a < kFactors; ++a) {
        for (int b = a + 1; b < kFactors; ++b) {
          met.insert(
              {a, one.levels[static_cast<size_t>(a)], b, one.levels[static_cast<size_t>(b)]});
        }
      }
    }
  }
  // But those that cannot be: a batch that grows has one way to do so, and groups need p
  // microbatches.
  const auto cannot_be = [](int a, int x, int b, int y) {
    constexpr auto kMicrobatches = static_cast<int>(Factor::microbatches);
    return (a == kMicrobatches && x > 0 && b == static_cast<int>(Factor::model) && y == 5) ||
           (a == static_cast<int>(Factor::order) && x == grid::grouped && b == kMicrobatches &&
            y > 1);
  };
  for (int a = 0; a < kFactors; ++a) {
    for (int b = a + 1; b < kFactors; ++b) {
      for (int x = 0; x < kLevels[static_cast<size_t>(a)]; ++x) {
        for (int y = 0; y < kLevels[static_cast<size_t>(b)]; ++y) {
          if (cannot_be(a, x, b, y)) continue;
          EXPECT_EQ(met.count({a, x, b, y}), 1U)
              << "factor " << a << " level " << x << " with factor " << b << " level " << y;
        }
      }
    }
  }
}

}  // namespace
}  // namespace trireme
