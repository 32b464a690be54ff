#pragma once
// Steps of a pipeline whose actions are timed, beside what the timeline makes of these times.

#include <algorithm>
#include <map>

#include "parallel_run.h"
#include "schedule/timeline.h"
#include "train/account.h"

namespace trireme {

inline double seconds(engine::Time::duration time) {
  return std::chrono::duration<double>(time).count();
}

/// When one step's actions were, and how long each took without what it waited for.
class ActionWatch final : public engine::Observer {
 public:
  void begin(const schedule::Action&) override {
    begin_ = std::chrono::steady_clock::now();
    waited_ = {};
    if (took.empty()) first = begin_;
  }
  void exchange(const engine::ExchangeRecord& record) override {
    waited_ += record.waited - record.wait;
  }
  void end(const schedule::Action& action) override {
    last = std::chrono::steady_clock::now();
    took[action] = seconds(last - begin_ - waited_);
  }

  std::map<schedule::Action, double> took;
  engine::Time first;
  engine::Time last;

 private:
  engine::Time begin_;
  engine::Time::duration waited_ = {};
};

struct MeasuredStep {
  double makespan = 0;   ///< of a step, from the first stage's begin to the last one's end
  double predicted = 0;  ///< from the durations of its actions
  double bubble = 0;
};

struct MeasuredSteps {
  std::vector<MeasuredStep> measured;
  train::RunAccount account;
};

/// Some steps of a pipeline.
inline MeasuredSteps measure_steps(const Model& model, const Cut& cut,
                                   const ops::KernelTable& kernels, size_t number) {
  const schedule::Pipeline pipeline =
      model::training_order({.stages = cut.p, .chunks = cut.v, .kind = cut.kind},
                            static_cast<int>(model.global_batch / model.micro_batch));
  std::vector<std::vector<ActionWatch>> watches(number);
  for (auto& of_step : watches) of_step = std::vector<ActionWatch>(static_cast<size_t>(cut.p));
  MeasuredSteps steps;
  comm::run_ranks({.ranks = cut.ranks()}, [&](comm::Port& port) {
    RankRun rank(port, model, cut, kernels);
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
        schedule::timeline(pipeline, {.action = [&](int rank, const schedule::Action& action) {
                             return of_step[static_cast<size_t>(rank)].took.at(action);
                           }});
    engine::Time last = of_step[0].last;
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

}  // namespace trireme
