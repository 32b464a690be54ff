#include "generate/in_order.h"

#include <gtest/gtest.h>

namespace trireme::generate {
namespace {

TEST(InOrder, WritesTheFirstAsItGrowsAndTheOthersBehindIt) {
  std::string written;
  InOrder texts(3, [&](std::string_view bytes) { written += bytes; });
  texts.put(1, "b");
  texts.put(0, "a");
  EXPECT_EQ(written, "a");
  texts.put(2, "c");
  texts.end(2);
  texts.put(0, "A");
  EXPECT_EQ(written, "aA");
  texts.end(0);
  EXPECT_EQ(written, "aAb");
  texts.put(1, "B");
  EXPECT_EQ(written, "aAbB");
  texts.end(1);
  EXPECT_EQ(written, "aAbBc");
}

}  // namespace
}  // namespace trireme::generate
