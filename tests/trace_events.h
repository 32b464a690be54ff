#pragma once
// Traces of runs of several ranks, read back.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "parallel_run.h"
#include "train/inspector.h"

namespace trireme {

/// A span, or a transfer.
struct Event {
  std::string name;
  double start = 0;  // microseconds
  double end = 0;
  nlohmann::json args;

  [[nodiscard]] double length() const { return end - start; }
  [[nodiscard]] bool is_within(const Event& other) const {
    return start >= other.start - 0.002 && end <= other.end + 0.002;  // of rounding
  }
};

/// A file's events by rank and category; transfers from their begins and ends.
using Events = std::map<std::pair<int, std::string>, std::vector<Event>>;

inline Events read_events(const Path& file) {
  Events events;
  std::map<std::string, Event> open;
  const nlohmann::json whole = nlohmann::json::parse(read_file(file));
  for (const nlohmann::json& json : whole.at("traceEvents")) {
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
                   .args = json.value("args", nlohmann::json::object())};
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

/// The trace of some steps, behind a first one. file: where to.
inline Events trace_steps(const Path& file, const Model& model, const Cut& cut, int steps,
                          const ops::KernelTable& kernels = ops::cpu_kernels()) {
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

/// One behind the other.
inline void expect_in_turns(std::vector<Event> events, const std::string& what) {
  std::sort(events.begin(), events.end(),
            [](const Event& a, const Event& b) { return a.start < b.start; });
  for (size_t i = 1; i < events.size(); ++i)
    EXPECT_GE(events[i].start, events[i - 1].end - 0.002) << what << ": " << events[i].name;
}

/// Ops, starts of exchanges and waits are all that a rank does in a step, one at a time: they sum
/// to the step's time within 1%, in most of the steps.
inline void expect_spans_sum_to_wall_time(Events& events, const Cut& cut) {
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
    ASSERT_GE(covered.size(), 3U);
    std::sort(covered.begin(), covered.end());
    EXPECT_LE(covered.back(), 1.0001) << cut.text() << " rank " << rank;
    EXPECT_GE(covered[covered.size() / 2], 0.99) << cut.text() << " rank " << rank;
  }
}

}  // namespace trireme
