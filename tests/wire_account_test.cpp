// What ranks send is what their plans say, to the byte, whichever way a run is cut; and that is
// what the paper says.

#include <gtest/gtest.h>

#include "parallel_run.h"

namespace trireme {
namespace {

using program::Traffic;
using schedule::ScheduleKind;

void expect_planned(const Result& result, const std::string& what) {
  for (size_t g = 0; g < kRankGroups; ++g) {
    for (size_t k = 0; k < program::kTraffics; ++k) {
      const auto group = static_cast<RankGroup>(g);
      const auto traffic = static_cast<Traffic>(k);
      EXPECT_EQ(result.sent_by_group(group, traffic), result.planned(group, traffic))
          << what << ", " << name_of(group) << " group, " << name_of(traffic);
    }
  }
}

// Sizes that do not go up in cache lines, so that parts of buffers differ between ranks.
Model odd() {
  Model model;
  model.shape.hidden = 36;
  model.shape.ffn = 144;
  model.micro_batch = 1;
  return model;
}

TEST(BytesSent, AreThoseOfThePlanInEveryCut) {
  for (const Cut& cut :
       {Cut{}, Cut{.p = 2}, Cut{.p = 4}, Cut{.p = 2, .v = 2},
        Cut{.p = 4, .kind = ScheduleKind::gpipe}, Cut{.t = 2}, Cut{.t = 4}, Cut{.d = 2},
        Cut{.d = 4, .reduction = {.bucket_elements = 1000}},
        Cut{.d = 2, .reduction = {.overlap = false}}, Cut{.p = 2, .t = 2},
        Cut{.p = 2, .t = 2, .scatter_gather = true}, Cut{.p = 2, .t = 4, .scatter_gather = true},
        Cut{.p = 2, .t = 2, .v = 2, .scatter_gather = true}, Cut{.p = 2, .d = 2},
        Cut{.p = 2, .t = 2, .d = 2, .v = 2, .scatter_gather = true},
        Cut{.p = 2, .t = 2, .d = 2, .rank_order = parallel::RankOrder::tensor_pipeline_data}})
    expect_planned(run(odd(), cut), cut.text());
}

TEST(BytesSent, AreThoseOfThePlanWhereTheBatchGrows) {
  Model model = odd();
  model.ramp_up = {4};
  model.steps = 3;
  for (const Cut& cut : {Cut{.p = 2, .t = 2}, Cut{.d = 2}, Cut{.p = 2, .t = 2, .d = 2}})
    expect_planned(run(model, cut), cut.text());
}

TEST(BytesSent, AreThoseOfThePlanWithUntiedEmbeddings) {
  Model model = odd();
  model.shape.tied_embeddings = false;
  const Result result = run(model, {.p = 2, .t = 2, .d = 2});
  expect_planned(result, "untied");
  EXPECT_EQ(result.sent_by_group(RankGroup::tied, Traffic::tied), 0);
}

// Counted bytes of a training step of one more microbatch, layer, ...: differences leave out what
// does not depend on it.
model::WireBytes sent(const Model& model, const Cut& cut) {
  Model one = model;
  one.steps = 1;
  return run(one, cut).sent_by_group;
}

TEST(BytesSent, AreThePapersPerLayerMicrobatchAndBoundary) {
  const Model model = odd();
  Model deeper = model;
  deeper.shape.layers += 4;
  Model longer = model;
  longer.global_batch *= 2;
  const int64_t bsh = model.micro_batch * model.shape.length * model.shape.hidden * 4;
  for (const Cut& cut :
       {Cut{.p = 2, .t = 2}, Cut{.p = 2, .t = 4}, Cut{.p = 2, .t = 2, .d = 2, .v = 2},
        Cut{.p = 2, .t = 2, .d = 2, .v = 2, .scatter_gather = true}}) {
    const int64_t m = model.global_batch / cut.d;
    model::WireBytes layers = sent(deeper, cut);
    layers -= sent(model, cut);
    // 8 b s h (t - 1)/t on each of t ranks per layer and microbatch (SC'21 section 3.2), half of it
    // in the forward; the evaluation's forwards count too.
    const int64_t forward = 4 * bsh * (cut.t - 1) * 4 * m * cut.d;
    EXPECT_EQ(layers(RankGroup::tensor, Traffic::activation), 2 * forward) << cut.text();
    EXPECT_EQ(layers(RankGroup::tensor, Traffic::gradient), forward) << cut.text();
    EXPECT_EQ(layers(RankGroup::pipeline, Traffic::activation), 0) << cut.text();

    // b s h per boundary and microbatch, or 1/t of it from each tensor rank (4.1).
    model::WireBytes batch = sent(longer, cut);
    batch -= sent(model, cut);
    const int64_t boundaries =
        (cut.p * cut.v - 1) * m * cut.d * bsh * (cut.scatter_gather ? 1 : cut.t);
    EXPECT_EQ(batch(RankGroup::pipeline, Traffic::activation), 2 * boundaries) << cut.text();
    EXPECT_EQ(batch(RankGroup::pipeline, Traffic::gradient), boundaries) << cut.text();
    // Gradients are summed once for a global batch, however large it is.
    EXPECT_EQ(batch(RankGroup::data, Traffic::gradient), 0) << cut.text();
  }
}

TEST(BytesSent, AreThePapersPerGradient) {
  // 2 (d - 1)/d of each gradient from each of d ranks (3.3.1).
  const Model model = odd();
  Model deeper = model;
  deeper.shape.layers += 4;
  const int64_t h = model.shape.hidden;
  const int64_t f = model.shape.ffn;
  const int64_t of_a_layer =
      4 * h * h + 2 * f * h + 4 * h + f + h + 4 * h;  // weights, biases, norms
  for (const int d : {2, 4}) {
    model::WireBytes layers = sent(deeper, {.d = d});
    layers -= sent(model, {.d = d});
    const auto bytes = static_cast<double>(layers(RankGroup::data, Traffic::gradient));
    // Gradients lie on cache lines: what is between them goes along.
    EXPECT_GE(bytes, 2.0 * (d - 1) * 4 * static_cast<double>(of_a_layer) * 4) << d;
    EXPECT_LT(bytes, 2.0 * (d - 1) * 4 * static_cast<double>(of_a_layer) * 4 * 1.02) << d;
  }
}

}  // namespace
}  // namespace trireme
