#include "config/nearest.h"

#include <gtest/gtest.h>

#include <vector>

namespace trireme::config {
namespace {

TEST(EditDistance, CountsInsertionsRemovalsReplacementsAndSwaps) {
  EXPECT_EQ(edit_distance("", ""), 0);
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("abc", ""), 3);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
  EXPECT_EQ(edit_distance("seq-lenght", "seq-length"), 1);
  EXPECT_EQ(edit_distance("ab", "ba"), 1);
  EXPECT_EQ(edit_distance("abcd", "badc"), 2);
}

TEST(EditDistance, IsSymmetric) {
  const std::vector<std::string> names = {"lr", "min-lr", "lr-decay-iters", "split", "a", ""};
  for (const auto& a : names) {
    for (const auto& b : names) EXPECT_EQ(edit_distance(a, b), edit_distance(b, a)) << a << b;
  }
}

TEST(Nearest, IsTheOneWithTheSmallestDistance) {
  const std::vector<std::string> names = {"hidden-size", "num-layers", "lr", "save", "load"};
  EXPECT_EQ(nearest("num-layer", names), "num-layers");
  EXPECT_EQ(nearest("layers", names), "num-layers");
  EXPECT_EQ(nearest("hiddensize", names), "hidden-size");
  EXPECT_EQ(nearest("sav", names), "save");
}

TEST(Nearest, IsNoneWhenNothingIsAlike) {
  const std::vector<std::string> names = {"hidden-size", "num-layers"};
  EXPECT_EQ(nearest("zzz", names), std::nullopt);
  EXPECT_EQ(nearest("x", {}), std::nullopt);
}

}  // namespace
}  // namespace trireme::config
