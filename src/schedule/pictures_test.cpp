#include "schedule/pictures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "schedule/communication.h"
#include "schedule/schedules.h"

namespace trireme::schedule {
namespace {

struct Drawn {
  Pipeline pipeline;
  Timeline times;
};

Drawn drawn(ScheduleKind kind, const PipelineShape& shape, double message = 0) {
  Pipeline pipeline = make_pipeline(kind, shape);
  Timeline times = timeline(pipeline, equal_durations(1, 2, shape.chunks, message));
  return {.pipeline = std::move(pipeline), .times = std::move(times)};
}

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(TextPicture, DrawsThePapersFigures) {
  // SC'21 figure 3 (GPipe) and figure 4 (1F1B), smaller.
  const Drawn gpipe = drawn(ScheduleKind::gpipe, {.stages = 2, .microbatches = 3});
  EXPECT_EQ(text_picture(gpipe.pipeline, gpipe.times),
            "rank 0 |0 1 2 . . . 0== 1== 2==\n"
            "rank 1 |. 0 1 2 0== 1== 2== . .\n");
  const Drawn alternating =
      drawn(ScheduleKind::one_forward_one_backward, {.stages = 2, .microbatches = 3});
  EXPECT_EQ(text_picture(alternating.pipeline, alternating.times),
            "rank 0 |0 1 . . 0== 2 1== . 2==\n"
            "rank 1 |. 0 0== 1 1== 2 2== . .\n");
}

TEST(TextPicture, NamesTheChunk) {
  const Drawn run = drawn(ScheduleKind::interleaved, {.stages = 2, .microbatches = 2, .chunks = 2});
  EXPECT_EQ(text_picture(run.pipeline, run.times),
            "rank 0 |a0 a1 b0 b1 .  .  b0=== .  b1=== a0=== a1===\n"
            "rank 1 |.  a0 a1 b0 b0=== b1 b1=== a0=== a1=== .  .\n");
}

TEST(TextPicture, BreaksRowsAtWholeUnits) {
  const Drawn run = drawn(ScheduleKind::gpipe, {.stages = 2, .microbatches = 3});
  EXPECT_EQ(text_picture(run.pipeline, run.times, {.columns = 21}),
            "rank 0 |0 1 2 . . .\n"
            "rank 1 |. 0 1 2 0==\n"
            "\n"
            "rank 0 |0== 1== 2==\n"
            "rank 1 |1== 2== . .\n");
}

TEST(TextPicture, ColoursWholeCellsAndNothingElse) {
  const Drawn run = drawn(ScheduleKind::gpipe, {.stages = 1, .microbatches = 1});
  EXPECT_EQ(text_picture(run.pipeline, run.times, {.colour = true}),
            "rank 0 |\x1b[48;5;25;38;5;15m0 \x1b[48;5;28;38;5;15m0== \x1b[0m\n");
}

TEST(SvgPicture, HasACellForEachComputing) {
  const PipelineShape shape = {.stages = 4, .microbatches = 8, .chunks = 2};
  const Drawn run = drawn(ScheduleKind::interleaved, shape);
  const std::string svg = svg_picture(run.pipeline, run.times);
  EXPECT_EQ(count_of(svg, "<g><title>"), 4U * 8 * 2 * 2);
  EXPECT_EQ(count_of(svg, "<g>"), count_of(svg, "</g>"));
  EXPECT_NE(svg.find("bubble 18.8% of the ideal time"), std::string::npos);
  EXPECT_NE(svg.find("<title>1B7: "), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

TEST(Pictures, AreEmptyWhereNothingTakesTime) {
  const Pipeline pipeline = make_pipeline(ScheduleKind::gpipe, {.stages = 2, .microbatches = 1});
  const Timeline times = timeline(pipeline, {});
  EXPECT_EQ(text_picture(pipeline, times), "rank 0 |\nrank 1 |\n");
  EXPECT_EQ(svg_picture(pipeline, times).find("nan"), std::string::npos);
  EXPECT_EQ(times.bubble(), 0);
}

TEST(ChromeTrace, HasEveryActionThatTakesTimeAndEveryMessage) {
  const Drawn run =
      drawn(ScheduleKind::one_forward_one_backward, {.stages = 3, .microbatches = 4}, 0.5);
  const auto trace = nlohmann::json::parse(chrome_trace(run.times));
  int actions = 0;
  int messages = 0;
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    ++(event["tid"] == 0 ? actions : messages);
    if (event["tid"] == 1) {
      EXPECT_EQ(event["dur"], 500);
    }
  }
  EXPECT_EQ(actions, 3 * 4 * 2);
  EXPECT_EQ(messages, 2 * 4 * 2);
}

TEST(Json, SaysWhatEachRankNeeds) {
  const Drawn run = drawn(ScheduleKind::one_forward_one_backward, {.stages = 4, .microbatches = 8});
  const auto said = nlohmann::json::parse(json(run.pipeline, run.times));
  EXPECT_EQ(said["format"], "trireme-timeline");
  EXPECT_EQ(said["makespan"], 33);
  EXPECT_EQ(said["bubble"], 0.375);
  EXPECT_EQ(said["ranks"][1]["chunks_in_flight"], 3);
  EXPECT_EQ(said["ranks"][1]["actions"].size(), run.pipeline.ranks[1].size());
  EXPECT_EQ(said["messages"].size(), 2U * 3 * 8);
}

}  // namespace
}  // namespace trireme::schedule
