// `trireme verify` over sound cuts of a small model: silent, and nothing is left out.

#include <gtest/gtest.h>

#include "verify_run.h"

namespace trireme {
namespace {

using schedule::ScheduleKind;
using train::Comparison;
using train::Quantity;

// Nothing is out, and no tolerance is so tight that it nearly was.
train::VerifyReport expect_sound(const Model& model, const Cut& cut) {
  train::VerifyReport report = verify(model, cut);
  EXPECT_TRUE(report.is_sound()) << cut.text() << "\n" << report.text(12);
  double largest = 0;
  for (const Comparison& one : report.comparisons) largest = std::max(largest, one.ratio());
  EXPECT_LT(largest, 0.5) << cut.text() << "\n" << report.text(5);
  return report;
}

bool has(const train::VerifyReport& report, Quantity quantity, const std::string& name) {
  return std::any_of(
      report.comparisons.begin(), report.comparisons.end(),
      [&](const Comparison& one) { return one.quantity == quantity && one.name == name; });
}

TEST(Verify, FindsNothingInSoundCuts) {
  const Model model;
  for (const Cut& cut :
       {Cut{.t = 2}, Cut{.t = 4}, Cut{.d = 2}, Cut{.d = 8}, Cut{.p = 2, .t = 2, .d = 2},
        Cut{.p = 2, .t = 4}, Cut{.p = 2, .t = 2, .d = 2, .v = 2, .scatter_gather = true},
        Cut{.p = 4, .d = 2, .kind = ScheduleKind::gpipe},
        Cut{.p = 2, .d = 2, .rank_order = parallel::RankOrder::tensor_pipeline_data},
        Cut{.p = 2, .d = 2, .reduction = {.overlap = false}},
        Cut{.p = 2, .d = 2, .reduction = {.bucket_elements = 1000}}})
    expect_sound(model, cut);
}

TEST(Verify, FindsTheSameBitsWhereTheyArePromised) {
  const Model model;
  for (const Cut& cut : {Cut{}, Cut{.threads = 2}, Cut{.p = 2}, Cut{.p = 4}, Cut{.p = 2, .v = 2},
                         Cut{.p = 2, .kind = ScheduleKind::gpipe}}) {
    for (const Comparison& one : expect_sound(model, cut).comparisons) {
      EXPECT_EQ(one.tolerance, 0) << one.name;
      EXPECT_EQ(one.different, 0) << one.name;
    }
  }
  // Data ranks change the order in which microbatches are added, and nothing inside of one; nor
  // does an update from the same gradients.
  for (const Comparison& one : expect_sound(model, {.p = 2, .d = 2}).comparisons) {
    const bool same = one.quantity <= Quantity::forward || one.quantity == Quantity::backward ||
                      one.quantity == Quantity::update;
    EXPECT_EQ(one.tolerance == 0, same) << name_of(one.quantity) << " of " << one.name;
  }
}

TEST(Verify, FindsNothingInModelsOfOtherKinds) {
  const Cut cut = {.p = 2, .t = 2, .d = 2};
  Model untied;
  untied.shape.tied_embeddings = false;
  expect_sound(untied, cut);

  Model odd;  // 3 heads of 7, 61 words over 2 ranks of 32 rows, 5 layers
  odd.shape.layers = 5;
  odd.shape.hidden = 42;
  odd.shape.heads = 6;
  odd.shape.ffn = 90;
  odd.shape.vocabulary_granule = 1;
  odd.micro_batch = 3;
  odd.global_batch = 18;
  expect_sound(odd, {.p = 2, .t = 2, .d = 2, .layout = parallel::parse_layout("Ett|tttL", 5, 2)});
  expect_sound(odd, {.p = 1, .t = 3, .d = 2});

  Model sure;
  sure.shape.hidden_dropout = 0;
  sure.shape.attention_dropout = 0;
  sure.shape.attention = model::AttentionForm::stored;
  expect_sound(sure, cut);

  Model growing;
  growing.ramp_up = {4};
  growing.steps = 3;
  expect_sound(growing, cut);
}

TEST(Verify, ComparesEveryTensorInEveryWay) {
  const Model model;
  const train::VerifyReport report = verify(model, {.p = 2, .t = 2, .d = 2});
  const parallel::TensorTable table = model::gpt_tensors(model.shape, {});
  for (const parallel::Tensor& tensor : table.tensors()) {
    for (const Quantity quantity : {Quantity::start, Quantity::gradient, Quantity::first_moment,
                                    Quantity::second_moment, Quantity::update})
      EXPECT_TRUE(has(report, quantity, tensor.name)) << name_of(quantity) << " " << tensor.name;
  }
  for (const Comparison& one : report.comparisons) {
    // Nothing is compared where nothing is: all tensors have gradients, and move.
    if (one.step > 0) {
      EXPECT_GT(one.scale, 0) << name_of(one.quantity) << " of " << one.name;
    }
    if (one.quantity != Quantity::gradient || one.name != "embedding.word_embeddings.weight")
      continue;
    EXPECT_EQ(one.elements, 2 * kWords * model.shape.hidden) << "of two data ranks";
  }
  EXPECT_TRUE(has(report, Quantity::forward, "decoder.layers.3.mlp.y"));
  EXPECT_TRUE(has(report, Quantity::backward, "embedding.de"));
}

}  // namespace
}  // namespace trireme
