// The trace of a run of several ranks: one file with everything that all of them did.

#include <gtest/gtest.h>
#include <unistd.h>

#include "sleeping_kernels.h"
#include "trace_events.h"

namespace trireme {
namespace {

class RunTrace : public testing::Test {
 protected:
  RunTrace() {
    std::string pattern = testing::TempDir() + "trireme-trace-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  ~RunTrace() override { std::filesystem::remove_all(folder_); }

  Events trace(const Model& model, const Cut& cut, int steps,
               const ops::KernelTable& kernels = ops::cpu_kernels()) {
    return trace_steps(folder_ / "trace.json", model, cut, steps, kernels);
  }

  Path folder_;
};

void expect_each_within_one(const std::vector<Event>& inner, const std::vector<Event>& outer,
                            const std::string& what) {
  for (const Event& event : inner) {
    EXPECT_TRUE(std::any_of(outer.begin(), outer.end(),
                            [&](const Event& other) { return event.is_within(other); }))
        << what << ": " << event.name << " from " << event.start << " to " << event.end;
  }
}

TEST_F(RunTrace, HasEveryActionOfAllRanksWithItsOpsInsideIt) {
  const Model model;
  const Cut cut = {.p = 2, .t = 2, .d = 2, .v = 2, .scatter_gather = true};
  Events events = trace(model, cut, 2);
  for (int rank = 0; rank < cut.ranks(); ++rank) {
    const model::RunPlan plan = model::plan_run(request_of(model, cut, rank));
    const auto of = [&](const char* category) -> std::vector<Event>& {
      return events[{rank, category}];
    };
    EXPECT_EQ(of("process").front().name, format("rank {} = {}", rank, plan.at.text()));
    std::vector<std::string> expected;
    for (int step = 0; step < 2; ++step) {
      for (const schedule::Action& action : plan.largest_batch().schedule.actions)
        expected.push_back(action.text());
    }
    std::vector<std::string> names;
    for (const Event& action : of("action")) names.push_back(action.name);
    EXPECT_EQ(names, expected) << "rank " << rank;
    ASSERT_EQ(of("step").size(), 2U);
    EXPECT_EQ(of("step")[1].name, "step 3");
    expect_each_within_one(of("action"), of("step"), "action in step");
    expect_each_within_one(of("op"), of("action"), "op in action");
    expect_each_within_one(of("wait"), of("step"), "wait in step");
    expect_each_within_one(of("start"), of("step"), "start in step");
    for (const char* row : {"step", "action", "op", "start", "wait"}) expect_in_turns(of(row), row);
    EXPECT_EQ(of("transfer").size(), of("wait").size());
    EXPECT_GE(of("transfer").front().start, 0);
  }
}

TEST_F(RunTrace, HasEveryMessageAtBothEndsInOneTime) {
  const Model model;
  const Cut cut = {.p = 2, .t = 2};
  Events events = trace(model, cut, 1);
  int messages = 0;
  for (int rank = 0; rank < cut.ranks(); ++rank) {
    for (const Event& send : events[{rank, "transfer"}]) {
      if (send.name.rfind("send ", 0) != 0) continue;
      ++messages;
      // As in "rank 2 = p1 t0 d0".
      const std::string peer = send.args.at("peer");
      const std::vector<Event>& there = events[{std::stoi(peer.substr(5)), "transfer"}];
      const auto receive = std::find_if(there.begin(), there.end(), [&](const Event& event) {
        return event.name == "receive " + send.name.substr(5);
      });
      ASSERT_NE(receive, there.end()) << send.name;
      EXPECT_EQ(receive->args.at("bytes"), send.args.at("bytes"));
      EXPECT_EQ(receive->args.at("group"), "pipeline");
      // It cannot be there before it was sent.
      EXPECT_GE(receive->end, send.start) << send.name;
    }
  }
  EXPECT_EQ(messages, 2 * cut.t * model.global_batch);
}

// Gradients are summed from within the last backward on, or behind it.
TEST_F(RunTrace, ShowsBucketsThatStartInTheLastBackward) {
  Model model;
  model.shape.tied_embeddings = false;  // tied ones are complete when both stages are
  for (Cut cut : {Cut{.d = 2}, Cut{.p = 2, .d = 2}}) {
    cut.reduction.bucket_elements = 10'000;
    for (const bool overlap : {true, false}) {
      cut.reduction.overlap = overlap;
      Events events = trace(model, cut, 2);
      for (int rank = 0; rank < cut.ranks(); ++rank) {
        SCOPED_TRACE(format("{}, rank {}", cut.text(), rank));
        const std::vector<Event>& steps = events[{rank, "step"}];
        ASSERT_EQ(steps.size(), 2U);
        for (const Event& step : steps) {
          Event last;  // backward
          for (const Event& action : events[{rank, "action"}]) {
            if (action.is_within(step) && action.name.find("0B") == 0) last = action;
          }
          std::vector<double> starts;
          for (const Event& transfer : events[{rank, "transfer"}]) {
            if (transfer.args.at("group") == "data" && transfer.start >= step.start &&
                transfer.start < step.end)
              starts.push_back(transfer.start);
          }
          EXPECT_GE(starts.size(), 3U);
          const auto within = [&](double start) { return start > last.start && start < last.end; };
          const auto behind = [&](double start) { return start >= last.end; };
          // Each bucket behind the op that completes it: the last one is the last op's.
          EXPECT_TRUE(overlap ? std::all_of(starts.begin(), starts.end(), within)
                              : std::all_of(starts.begin(), starts.end(), behind));
        }
      }
    }
  }
}

TEST_F(RunTrace, HasSpansThatSumToTheWallTime) {
  Model model;
  model.global_batch = 4;
  for (const Cut& cut : {Cut{.p = 4}, Cut{.p = 2, .t = 2}, Cut{.p = 2, .d = 2}}) {
    Events events = trace(model, cut, 3, sleeping_kernels());
    expect_spans_sum_to_wall_time(events, cut);
  }
}

TEST_F(RunTrace, IsWrittenByEachRankWhereTheRunFails) {
  const Model model;
  const Path file = folder_ / "failed.json";
  EXPECT_THROW(comm::run_ranks({.ranks = 2},
                               [&](comm::Port& port) {
                                 RankRun rank(port, model, {.p = 2});
                                 const auto host_stream = rank.device.make_stream();
                                 train::Inspector inspector(rank.session,
                                                            {port.world(), *host_stream},
                                                            {.trace = file, .inspect_iters = 5});
                                 inspector.start_iteration(1);
                                 rank.trainer.step();
                                 inspector.end_iteration();
                                 inspector.start_iteration(2);
                                 throw std::runtime_error("enough");
                               }),
               std::runtime_error);
  for (const Path& one : {file, Path(file) += ".rank1"}) {
    Events events = read_events(one);
    const int rank = one == file ? 0 : 1;
    EXPECT_EQ((events[{rank, "step"}].size()), 2U) << one;
    EXPECT_FALSE((events[{rank, "action"}].empty())) << one;
  }
}

}  // namespace
}  // namespace trireme
