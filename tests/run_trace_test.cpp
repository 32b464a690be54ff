// The trace of a run of several ranks: one file with everything that all of them did.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "parallel_run.h"
#include "sleeping_kernels.h"
#include "train/inspector.h"

namespace trireme {
namespace {

using Json = nlohmann::json;

struct Event {
  std::string name;
  double start = 0;  // microseconds
  double end = 0;
  Json args;

  [[nodiscard]] double length() const { return end - start; }
  [[nodiscard]] bool is_within(const Event& other) const {
    return start >= other.start - 0.002 && end <= other.end + 0.002;  // of rounding
  }
};

// A file's events by rank and category; transfers from their begins and ends.
using Events = std::map<std::pair<int, std::string>, std::vector<Event>>;

Events read_events(const Path& file) {
  Events events;
  std::map<std::string, Event> open;
  const Json whole = Json::parse(read_file(file));
  for (const Json& json : whole.at("traceEvents")) {
    const std::string phase = json.at("ph");
    const int rank = json.at("pid");
    if (phase == "M") {
      if (json.at("name") == "process_name")
        events[{rank, "process"}].push_back({.name = json.at("args").at("name")});
      continue;
    }
    const double start = json.at("ts");
    Event event = {.name = json.at("name"),
                   .start = start,
                   .end = start,
                   .args = json.value("args", Json::object())};
    const std::pair key(rank, json.at("cat").get<std::string>());
    if (phase == "X") {
      event.end += json.at("dur").get<double>();
      events[key].push_back(event);
    } else if (phase == "b") {
      EXPECT_TRUE(open.emplace(json.at("id"), event).second);
    } else {
      EXPECT_EQ(phase, "e");
      const auto begin = open.find(json.at("id"));
      if (begin == open.end()) {
        ADD_FAILURE() << "an end without a begin";
        continue;
      }
      begin->second.end = start;
      events[key].push_back(begin->second);
      open.erase(begin);
    }
  }
  EXPECT_TRUE(open.empty());
  return events;
}

class RunTrace : public testing::Test {
 protected:
  RunTrace() {
    std::string pattern = testing::TempDir() + "trireme-trace-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  ~RunTrace() override { std::filesystem::remove_all(folder_); }

  // The trace of some steps, behind a first one.
  Events trace(const Model& model, const Cut& cut, int steps,
               const ops::KernelTable& kernels = ops::cpu_kernels()) {
    const Path file = folder_ / "trace.json";
    comm::run_ranks({.ranks = cut.ranks()}, [&](comm::Port& port) {
      RankRun rank(port, model, cut, kernels);
      rank.trainer.step();
      const auto host_stream = rank.device.make_stream();
      train::Inspector inspector(rank.session, {port.world(), *host_stream},
                                 {.trace = file, .inspect_iters = steps});
      for (int i = 1; i <= steps; ++i) {
        inspector.start_iteration(i + 1);
        rank.trainer.step();
        inspector.end_iteration();
      }
      port.finish(*host_stream);
    });
    return read_events(file);
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

void expect_in_turns(std::vector<Event> events, const std::string& what) {
  std::sort(events.begin(), events.end(),
            [](const Event& a, const Event& b) { return a.start < b.start; });
  for (size_t i = 1; i < events.size(); ++i)
    EXPECT_GE(events[i].start, events[i - 1].end - 0.002) << what << ": " << events[i].name;
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

TEST_F(RunTrace, HasSpansThatSumToTheWallTime) {
  // Ops, starts of exchanges and waits are all that a rank does in a step, one at a time.
  Model model;
  model.global_batch = 4;
  for (const Cut& cut : {Cut{.p = 4}, Cut{.p = 2, .t = 2}, Cut{.p = 2, .d = 2}}) {
    Events events = trace(model, cut, 3, sleeping_kernels());
    for (int rank = 0; rank < cut.ranks(); ++rank) {
      std::vector<Event> spans;
      for (const char* row : {"op", "start", "wait"}) {
        const std::vector<Event>& of_row = events[{rank, row}];
        spans.insert(spans.end(), of_row.begin(), of_row.end());
      }
      expect_in_turns(spans, format("{} rank {}", cut.text(), rank));
      std::vector<double> covered;
      for (const Event& step : events[{rank, "step"}]) {
        double sum = 0;
        for (const Event& span : spans) sum += span.is_within(step) ? span.length() : 0;
        covered.push_back(sum / step.length());
      }
      ASSERT_EQ(covered.size(), 3U);
      std::sort(covered.begin(), covered.end());
      EXPECT_LE(covered.back(), 1.0001) << cut.text() << " rank " << rank;
      EXPECT_GE(covered[1], 0.99) << cut.text() << " rank " << rank;
    }
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
