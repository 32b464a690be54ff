#include <gtest/gtest.h>

#include <vector>

#include "core/error.h"
#include "core/log.h"
#include "core/nearest_values.h"
#include "core/shape.h"
#include "core/table.h"

namespace trireme {
namespace {

TEST(Error, SaysWhereWhatRuleAndRemedyInOneLine) {
  set_place("rank 5 = p1 t0 d1");
  try {
    fail({.where = "schedule",
          .what = "6 microbatches",
          .rule = "a multiple of 4",
          .remedy = "use 8"});
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "[rank 5 = p1 t0 d1] schedule: 6 microbatches; a multiple of 4; use 8");
    EXPECT_EQ(error.exit_status(), 1);
  }
  set_place("");
  try {
    fail_usage({.what = "unknown option"});
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "unknown option");
    EXPECT_EQ(error.exit_status(), 2);
  }
}

TEST(Shape, MultipliesAndPrints) {
  EXPECT_EQ((Shape{2, 3, 4}).elements(), 24);
  EXPECT_EQ(Shape{}.elements(), 1);
  EXPECT_EQ((Shape{2304, 768}).text(), "[2304, 768]");
  EXPECT_NE((Shape{6}), (Shape{2, 3}));
  const std::vector<int64_t> extents = {2, 3};
  EXPECT_EQ(Shape(extents), (Shape{2, 3}));
}

TEST(TextTable, AlignsColumnsByCodePoints) {
  TextTable table({{"name", TextTable::Align::left}, {"MiB", TextTable::Align::right}});
  table.row({"größe", "1.5"});
  table.rule();
  table.row({"x", "10.25"});
  EXPECT_EQ(table.text(),
            "name     MiB\n"
            "-----  -----\n"
            "größe    1.5\n"
            "-----  -----\n"
            "x      10.25\n");
}

TEST(NearestValues, StandAroundWhatIsImpossible) {
  EXPECT_EQ(nearest_multiples(30, 8), "24 or 32");
  EXPECT_EQ(nearest_multiples(5, 8), "8");
  EXPECT_EQ(nearest_divisors(5, 12), "4 or 6");
  EXPECT_EQ(nearest_divisors(7, 12), "6 or 12");
  EXPECT_EQ(nearest_divisors(2, 7), "1 or 7");
  EXPECT_EQ(nearest_divisors(13, 12), "12");
}

TEST(Units, ReadWell) {
  EXPECT_EQ(bytes_text(512), "512 B");
  EXPECT_EQ(bytes_text(1.5 * 1024 * 1024), "1.5 MiB");
  EXPECT_EQ(duration_text(75), "1 min 15 s");
  EXPECT_EQ(duration_text(3 * 3600 + 60), "3 h 01 min");
  EXPECT_EQ(count_text(123), "123");
  EXPECT_EQ(count_text(1234567), "1.2 M");
}

}  // namespace
}  // namespace trireme
