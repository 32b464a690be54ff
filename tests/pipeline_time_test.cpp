// The time of a pipeline is what its schedule says: on ranks that sleep for what others compute.

#include <gtest/gtest.h>

#include <algorithm>
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

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Steps {
  std::vector<Measured> measured;
  train::RunAccount account;
};

// Some steps of a pipeline of equal stages, behind a first one.
Steps run_steps(const Cut& cut, int microbatches, int count) {
  Model model;
  model.shape.layers = cut.p * cut.v;
  model.global_batch = microbatches;
  const schedule::Pipeline pipeline =
      model::training_order({.stages = cut.p, .chunks = cut.v, .kind = cut.kind}, microbatches);
  std::vector<std::vector<ActionWatch>> watches(static_cast<size_t>(count));
  for (auto& of_step : watches) of_step = std::vector<ActionWatch>(static_cast<size_t>(cut.p));
  Steps steps;
  comm::run_ranks({.ranks = cut.ranks()}, [&](comm::Port& port) {
    RankRun rank(port, model, cut, sleeping_kernels());
    rank.trainer.step();
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

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {{{.p = 2}, 4},
                                        {{.p = 4}, 8},
                                        {{.p = 4, .v = 2}, 4},
                                        {{.p = 4, .kind = schedule::ScheduleKind::gpipe}, 4},
                                        {{.p = 8}, 8}};
  return all;
}

TEST(PipelineTime, IsWhatTheTimelineMakesOfItsActions) {
  for (const auto& [cut, microbatches] : cases()) {
    std::vector<double> ratios;
    std::vector<double> bubbles;
    const Steps steps = run_steps(cut, microbatches, 3);
    for (const Measured& step : steps.measured) {
      ratios.push_back(step.predicted / step.makespan);
      bubbles.push_back(step.bubble);
    }
    const std::string what = format("{} m {}", cut.text(), microbatches);
    EXPECT_NEAR(median(ratios), 1, 0.03) << what;
    // Of equal stages (p - 1)/(v m) (SC'21 sections 2.2.1 and 2.2.2).
    const double ideal = schedule::ideal_bubble(cut.p, microbatches, cut.v);
    EXPECT_NEAR(median(bubbles), ideal, 0.05 * (1 + ideal)) << what;
    // What a run says of itself at its end.
    EXPECT_DOUBLE_EQ(steps.account.ideal_bubble, ideal);
    double share = 0;
    for (const train::RankAccount& rank : steps.account.ranks)
      share += rank.fraction(train::TimeShare::bubble) / cut.p;
    EXPECT_NEAR(share, ideal / (1 + ideal), 0.05) << what;
  }
}

}  // namespace
}  // namespace trireme
