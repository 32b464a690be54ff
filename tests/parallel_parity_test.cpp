// One run, cut in every way: the arithmetic contract says which cuts have the same bits.

#include <gtest/gtest.h>

#include "parallel_run.h"

namespace trireme {
namespace {

using schedule::ScheduleKind;

void expect_bits(const Result& result, const Result& reference, const std::string& what) {
  EXPECT_EQ(result.losses, reference.losses) << what;
  EXPECT_EQ(result.norms, reference.norms) << what;
  EXPECT_EQ(result.evaluated, reference.evaluated) << what;
  ASSERT_EQ(result.tensors.size(), reference.tensors.size()) << what;
  for (const auto& [key, values] : reference.tensors) {
    ASSERT_EQ(result.tensors.at(key), values)
        << what << ", " << key.first << ", state " << static_cast<int>(key.second);
  }
}

// Sums in another order: of gradients of the step, to some roundings of their largest.
void expect_near(const Result& result, const Result& reference, const std::string& what) {
  for (size_t step = 0; step < reference.losses.size(); ++step) {
    EXPECT_NEAR(result.losses[step], reference.losses[step], 2e-6 * reference.losses[step]) << what;
    EXPECT_NEAR(result.norms[step], reference.norms[step], 1e-5 * reference.norms[step]) << what;
  }
}

TEST(Pipeline, HasTheBitsOfOneStage) {
  const Model model;
  const Result reference = run(model, {});
  for (const Cut& cut :
       {Cut{.p = 2}, Cut{.p = 4}, Cut{.p = 2, .v = 2}, Cut{.p = 2, .kind = ScheduleKind::gpipe},
        Cut{.p = 2, .v = 2, .kind = ScheduleKind::gpipe}})
    expect_bits(run(model, cut), reference, cut.text());
}

TEST(TensorRanks, HaveTheSameNumbers) {
  const Model model;
  const Result reference = run(model, {});
  for (const int t : {2, 4}) {
    const Result one_stage = run(model, {.t = t});
    expect_near(one_stage, reference, format("t {}", t));
    expect_bits(run(model, {.p = 2, .t = t}), one_stage, format("p 2 t {}", t));
    expect_bits(run(model, {.p = 2, .t = t, .scatter_gather = true}), one_stage,
                format("p 2 t {} scatter/gather", t));
  }
}

TEST(DataRanks, HaveTheSameNumbers) {
  const Model model;
  const Result reference = run(model, {});
  const Result data = run(model, {.d = 2});
  expect_near(data, reference, "d 2");
  expect_bits(run(model, {.d = 2, .reduction = {.overlap = false}}), data, "no overlap");
  expect_bits(run(model, {.d = 2, .reduction = {.bucket_elements = 64}}), data, "small buckets");
  expect_bits(run(model, {.p = 2, .d = 2}), data, "p 2 d 2");
  expect_bits(run(model, {.p = 2, .d = 2, .v = 2}), data, "p 2 d 2 v 2");
}

}  // namespace
}  // namespace trireme
