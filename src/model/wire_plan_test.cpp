#include "model/wire_plan.h"

#include <gtest/gtest.h>

#include "core/format.h"

namespace trireme::model {
namespace {

using program::Traffic;
using schedule::ActionKind;

// Sizes that neither t nor d divides into whole cache lines.
GptShape tiny() {
  return {.layers = 4,
          .hidden = 24,
          .heads = 4,
          .ffn = 96,
          .length = 10,
          .positions = 16,
          .vocabulary = 61,
          .vocabulary_granule = 4};
}

struct Cut {
  int p = 1;
  int t = 1;
  int d = 1;
  int v = 1;
  bool scatter_gather = false;
  bool overlap = true;
  int microbatches = 4;

  [[nodiscard]] std::string text() const {
    return format("p {} t {} d {} v {}{}{} m {}", p, t, d, v, scatter_gather ? " scatter" : "",
                  overlap ? "" : " no overlap", microbatches);
  }
};

constexpr int64_t kSequences = 2;  // b

RunPlan plan_of(const GptShape& shape, const Cut& cut, int rank) {
  const parallel::Topology topology(cut.p, cut.t, cut.d);
  return plan_run({.shape = shape,
                   .batch = {.sequences = kSequences, .microbatches = cut.microbatches},
                   .topology = topology,
                   .at = topology.coordinates(Rank{rank}),
                   .layout = parallel::equal_layout(shape.layers, cut.p, cut.v),
                   .reduction = {.overlap = cut.overlap, .bucket_elements = 500},
                   .scatter_gather = cut.scatter_gather,
                   .evaluate = true});
}

// What all ranks send in one step, or in one batch of the evaluation.
WireBytes sent_by_all(const GptShape& shape, const Cut& cut, Mode mode = Mode::train) {
  WireBytes sum;
  for (int rank = 0; rank < cut.p * cut.t * cut.d; ++rank) {
    const RunPlan plan = plan_of(shape, cut, rank);
    sum +=
        WirePlan(plan).batch(mode, mode == Mode::train ? plan.largest_batch() : *plan.evaluation);
  }
  return sum;
}

TEST(WirePlan, SendsNothingWithOneRank) {
  EXPECT_EQ(sent_by_all(tiny(), {}), WireBytes{});
  EXPECT_EQ(WirePlan(plan_of(tiny(), {}, 0)).gather(), 0);
}

TEST(WirePlan, SendsABoundaryPerMicrobatchAndBorderOfStages) {
  // b s h per boundary (SC'21 section 3.3.1), v times as many boundaries interleaved (2.2.2), 1/t
  // of it by each tensor rank with scatter/gather, whose receivers gather (4.1).
  const int64_t bsh = kSequences * 10 * 24 * 4;
  for (const int t : {1, 2, 4}) {
    for (const int v : {1, 2}) {
      for (const bool scatter : {false, true}) {
        if (scatter && t == 1) continue;
        const Cut cut = {.p = 2, .t = t, .d = 2, .v = v, .scatter_gather = scatter};
        const int64_t borders = cut.p * v - 1;
        const int64_t messages = borders * cut.microbatches * cut.d;
        const WireBytes sent = sent_by_all(tiny(), cut);
        const WireBytes one_stage = sent_by_all(tiny(), {.t = t, .d = 2});
        for (const Traffic traffic : {Traffic::activation, Traffic::gradient}) {
          EXPECT_EQ(sent(RankGroup::pipeline, traffic), messages * bsh * (scatter ? 1 : t))
              << cut.text();
          EXPECT_EQ(sent(RankGroup::tensor, traffic) - one_stage(RankGroup::tensor, traffic),
                    scatter ? messages * bsh * (t - 1) : 0)
              << cut.text();
        }
        EXPECT_EQ(sent_by_all(tiny(), cut, Mode::evaluate)(RankGroup::pipeline, Traffic::gradient),
                  0);
        EXPECT_EQ(
            sent_by_all(tiny(), cut, Mode::evaluate)(RankGroup::pipeline, Traffic::activation),
            sent(RankGroup::pipeline, Traffic::activation));
      }
    }
  }
}

TEST(WirePlan, SendsEightBshPerLayerAndMicrobatchInTheTensorGroup) {
  // 8 b s h (t - 1)/t elements on each of t ranks, of a layer and a microbatch (section 3.2).
  for (const int t : {1, 2, 4}) {
    for (const Cut& cut : {Cut{.t = t}, Cut{.p = 2, .t = t}, Cut{.p = 2, .t = t, .d = 2, .v = 2}}) {
      GptShape larger = tiny();
      larger.layers = 8;
      const auto layers_of = [&](Traffic traffic) {
        return sent_by_all(larger, cut)(RankGroup::tensor, traffic) -
               sent_by_all(tiny(), cut)(RankGroup::tensor, traffic);
      };
      const int64_t per_layer = 8 * kSequences * 10 * 24 * (t - 1) * 4;
      EXPECT_EQ(layers_of(Traffic::activation) + layers_of(Traffic::gradient),
                per_layer * 4 * cut.microbatches * cut.d)
          << cut.text();
    }
  }
}

TEST(WirePlan, SendsEveryGradientTwiceLessAnNthInTheDataGroup) {
  // 2 (d - 1)/d per element and rank (section 3.3.1), once in a step, however it is cut.
  for (const int d : {2, 4}) {
    for (const bool overlap : {false, true}) {
      for (const int microbatches : {1, 4}) {
        const Cut cut = {.d = d, .overlap = overlap, .microbatches = microbatches};
        const RunPlan plan = plan_of(tiny(), cut, 0);
        int64_t bytes = 0;  // the buckets', ends of alignments included
        for (const Bucket& bucket : plan.buckets) bytes += 4 * bucket.elements;
        EXPECT_EQ(sent_by_all(tiny(), cut)(RankGroup::data, Traffic::gradient), 2 * (d - 1) * bytes)
            << cut.text();
        EXPECT_GE(bytes, 4 * plan.table.parameters());
        EXPECT_LT(bytes, 4 * plan.table.parameters() + 64 * plan.table.size());
      }
    }
  }
}

TEST(WirePlan, SendsTiedGradientsBetweenTheFirstAndTheLastStageOnly) {
  GptShape shape = tiny();
  const int64_t words = shape.padded_vocabulary(2) * shape.hidden * 4;
  for (const bool tied : {false, true}) {
    shape.tied_embeddings = tied;
    for (const int p : {1, 2, 4}) {
      const Cut cut = {.p = p, .t = 2, .d = 2};
      // Two ranks send the whole of it between them, twice; t pairs have a part each.
      EXPECT_EQ(sent_by_all(shape, cut)(RankGroup::tied, Traffic::tied),
                p > 1 && tied ? 2 * words * cut.d : 0)
          << cut.text();
    }
  }
}

TEST(WirePlan, IsTheSumOverTheActionsHoweverTheyAreSplit) {
  for (const Cut& cut : {Cut{.t = 2}, Cut{.p = 2, .t = 2, .d = 2, .scatter_gather = true}}) {
    const WirePlan plan(plan_of(tiny(), cut, 1));
    WireBytes halves = plan.of(Mode::train, ActionKind::input_gradient, {});
    halves += plan.of(Mode::train, ActionKind::weight_gradient, {});
    EXPECT_EQ(halves, plan.of(Mode::train, ActionKind::backward, {})) << cut.text();
  }
}

TEST(WireBytes, AddMultiplyAndCompare) {
  WireBytes a;
  a(RankGroup::tensor, Traffic::loss) = 3;
  a(RankGroup::world, Traffic::agreement) = 4;
  EXPECT_EQ(a.total(), 7);
  WireBytes b = a * 3;
  EXPECT_EQ(b(RankGroup::tensor, Traffic::loss), 9);
  b -= a;
  EXPECT_EQ(b, a * 2);
  EXPECT_NE(b, a);
}

}  // namespace
}  // namespace trireme::model
