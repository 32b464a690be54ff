// The time of a pipeline is what its schedule says: on ranks that sleep for what others compute.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "parallel_run.h"
#include "schedule/timeline.h"
#include "sleeping_kernels.h"
#include "train/account.h"

namespace trireme {
namespace {

using engine::Time;
using schedule::Action;

double seconds(Time::duration time) {
  return std::chrono::duration<double>(time).count();
}

// When one step's actions were, and how long each took without what it waited for.
class ActionWatch final : public engine::Observer {
 public:
  void begin(const Action&) override {
    begin_ = std::chrono::steady_clock::now();
    waited_ = {};
    if (took.empty()) first = begin_;
  }
  void exchange(const engine::ExchangeRecord& record) override {
    waited_ += record.waited - record.wait;
  }
  void end(const Action& action) override {
    last = std::chrono::steady_clock::now();
    took[action] = seconds(last - begin_ - waited_);
  }

  std::map<Action, double> took;
  Time first;
  Time last;

 private:
  Time begin_;
  Time::duration waited_ = {};
};

struct Measured {
  double makespan = 0;   // of a step, from the first stage's begin to the last one's end
  double predicted = 0;  // from the durations of its actions
  double bubble = 0;
};

struct Steps {
  std::vector<Measured> measured;
  train::RunAccount account;
};

// Two steps of a pipeline of equal stages.
Steps run_steps(const Cut& cut, int microbatches) {
  Model model;
  model.shape.layers = cut.p * cut.v;
  model.global_batch = microbatches;
  const schedule::Pipeline pipeline =
      model::training_order({.stages = cut.p, .chunks = cut.v, .kind = cut.kind}, microbatches);
  std::vector<std::vector<ActionWatch>> watches(2);
  for (auto& of_step : watches) of_step = std::vector<ActionWatch>(static_cast<size_t>(cut.p));
  Steps steps;
  comm::run_ranks({.ranks = cut.ranks()}, [&](comm::Port& port) {
    RankRun rank(port, model, cut, sleeping_kernels());
    for (auto& of_step : watches) {
      ActionWatch& watch = of_step[static_cast<size_t>(port.rank())];
      rank.session.add_observer(watch);
      rank.trainer.step();
      rank.session.remove_observer(watch);
    }
    const auto stream = rank.device.make_stream();
    const train::RunAccount account =
        train::gather_account({port.world(), *stream}, rank.session, rank.trainer);
    if (port.rank() == 0) steps.account = account;
  });
  for (const auto& of_step : watches) {
    const schedule::Timeline times =
        schedule::timeline(pipeline, {.action = [&](int rank, const Action& action) {
                             return of_step[static_cast<size_t>(rank)].took.at(action);
                           }});
    Time last = of_step[0].last;
    double busiest = 0;
    for (int rank = 0; rank < cut.p; ++rank) {
      last = std::max(last, of_step[static_cast<size_t>(rank)].last);
      busiest = std::max(busiest, times.busy(rank));
    }
    const double makespan = seconds(last - of_step[0].first);
    steps.measured.push_back({.makespan = makespan,
                              .predicted = times.makespan,
                              .bubble = (makespan - busiest) / busiest});
  }
  return steps;
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
    Measured best;
    double share = 1;  // of the bubble, as the run says of itself at its end
    const auto is_good = [&] {
      return best.predicted >= 0.97 * best.makespan && std::abs(best.bubble - ideal) < 0.05 &&
             std::abs(share - ideal / (1 + ideal)) < 0.04;
    };
    for (int round = 0; round < kMostRounds && !is_good(); ++round) {
      const Steps steps = run_steps(cut, microbatches);
      for (const Measured& step : steps.measured) {
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
