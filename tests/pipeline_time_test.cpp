// The time of a pipeline is what its schedule says: on ranks that sleep for what others compute.

#include <gtest/gtest.h>

#include <cmath>

#include "measured_steps.h"
#include "sleeping_kernels.h"

namespace trireme {
namespace {

// Two steps of a pipeline of equal stages.
MeasuredSteps run_steps(const Cut& cut, int microbatches) {
  Model model;
  model.shape.layers = cut.p * cut.v;
  model.global_batch = microbatches;
  return measure_steps(model, cut, sleeping_kernels(), 2);
}

struct Case {
  Cut cut;
  int microbatches;
};

TEST(PipelineTime, IsWhatTheTimelineMakesOfItsActions) {
  // What else the machine does can only make a step longer than its actions say: the step that was
  // disturbed least counts. On a quiet machine that is one of the first.
  constexpr int kMostRounds = 6;
  for (const auto& [cut, microbatches] :
       {Case{{.p = 2}, 4}, Case{{.p = 4}, 8}, Case{{.p = 4, .v = 2}, 4},
        Case{{.p = 2, .kind = schedule::ScheduleKind::gpipe}, 3}, Case{{.p = 8}, 8}}) {
    const std::string what = format("{} m {}", cut.text(), microbatches);
    // Of equal stages (p - 1)/(v m) (SC'21 sections 2.2.1 and 2.2.2).
    const double ideal = schedule::ideal_bubble(cut.p, microbatches, cut.v);
    MeasuredStep best;
    double share = 1;  // of the bubble, as the run says of itself at its end
    const auto is_good = [&] {
      return best.predicted >= 0.97 * best.makespan && std::abs(best.bubble - ideal) < 0.05 &&
             std::abs(share - ideal / (1 + ideal)) < 0.04;
    };
    for (int round = 0; round < kMostRounds && !is_good(); ++round) {
      const MeasuredSteps steps = run_steps(cut, microbatches);
      for (const MeasuredStep& step : steps.measured) {
        EXPECT_LE(step.predicted, 1.001 * step.makespan) << what;
        if (step.predicted * best.makespan >= best.predicted * step.makespan) best = step;
      }
      EXPECT_DOUBLE_EQ(steps.account.ideal_bubble, ideal);
      double mean = 0;
      for (const train::RankAccount& rank : steps.account.ranks)
        mean += rank.fraction(train::TimeShare::bubble) / cut.p;
      share = std::min(share, mean);
    }
    EXPECT_NEAR(best.predicted / best.makespan, 1, 0.03) << what;
    EXPECT_NEAR(best.bubble, ideal, 0.05) << what;
    EXPECT_NEAR(share, ideal / (1 + ideal), 0.04) << what;
  }
}

}  // namespace
}  // namespace trireme
