// `trireme verify` over cuts of a small model: silent where the run is sound, and right about where
// it is wrong.

#include <gtest/gtest.h>

#include <iostream>

#include "verify_run.h"

namespace trireme {
namespace {

using train::Quantity;

// The nearest that any comparison with a tolerance came to it.
double largest_part(const train::VerifyReport& report) {
  double largest = 0;
  for (const train::Comparison& one : report.comparisons)
    largest = std::max(largest, one.ratio());
  return largest;
}

void expect_sound(const Model& model, const Cut& cut) {
  const train::VerifyReport report = verify(model, cut);
  EXPECT_TRUE(report.is_sound()) << cut.text() << "\n" << report.text(12);
  // A tolerance that is far too wide would find nothing.
  EXPECT_LT(largest_part(report), 0.5) << cut.text() << "\n" << report.text(5);
  std::cerr << cut.text() << " " << largest_part(report) << "\n";
}

TEST(Verify, FindsNothingInAnySoundCut) {
  const Model model;
  for (const Cut& cut :
       {Cut{.p = 1}, Cut{.p = 2}, Cut{.p = 4}, Cut{.t = 2}, Cut{.t = 4}, Cut{.d = 2}, Cut{.d = 8},
        Cut{.p = 2, .t = 2, .d = 2}, Cut{.p = 2, .v = 2}, Cut{.p = 2, .t = 4},
        Cut{.p = 2, .t = 2, .d = 2, .scatter_gather = true},
        Cut{.p = 2, .d = 2, .reduction = {.overlap = false, .bucket_elements = 1000}}}) {
    expect_sound(model, cut);
  }
}

}  // namespace
}  // namespace trireme
