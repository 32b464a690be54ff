#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "core/error.h"
#include "core/format.h"
#include "schedule/communication.h"
#include "schedule/schedules.h"
#include "schedule/slots.h"
#include "schedule/testing.h"
#include "schedule/text.h"
#include "schedule/timeline.h"
#include "schedule/validate.h"

namespace trireme::schedule {
namespace {

using testing::computing_of;

struct Case {
  ScheduleKind kind;
  PipelineShape shape;
  [[nodiscard]] std::string text() const {
    return format("kind {} p {} m {} v {} group {}", static_cast<int>(kind), shape.stages,
                  shape.microbatches, shape.chunks, shape.group);
  }
};

// Every built-in schedule over a grid of (p, m, v).
std::vector<Case> grid() {
  std::vector<Case> cases;
  for (int p = 1; p <= 8; ++p) {
    for (const int m : {1, 2, 3, 4, 5, 7, 8, 12, 16, 24}) {
      for (int v = 1; v <= 4; ++v) {
        const PipelineShape shape = {.stages = p, .microbatches = m, .chunks = v};
        cases.push_back({ScheduleKind::gpipe, shape});
        cases.push_back({ScheduleKind::forward_only, shape});
        if (v == 1) cases.push_back({ScheduleKind::one_forward_one_backward, shape});
        if (v > 1 && m % p == 0) cases.push_back({ScheduleKind::interleaved, shape});
      }
    }
  }
  for (const PipelineShape& shape :
       std::vector<PipelineShape>{{.stages = 2, .microbatches = 8, .chunks = 2, .group = 4},
                                  {.stages = 4, .microbatches = 16, .chunks = 3, .group = 8},
                                  {.stages = 3, .microbatches = 13, .chunks = 2, .group = 5},
                                  {.stages = 4, .microbatches = 15, .chunks = 2, .group = 11}})
    cases.push_back({ScheduleKind::interleaved, shape});
  return cases;
}

TEST(MakePipeline, IsValidAndHasEveryMessageOnce) {
  for (const Case& c : grid()) {
    SCOPED_TRACE(c.text());
    const Pipeline pipeline = make_pipeline(c.kind, c.shape);
    ASSERT_NO_THROW(validate(pipeline));
    const bool trains = c.kind != ScheduleKind::forward_only;
    const int boundaries = c.shape.stages == 1 ? 0 : c.shape.stages * c.shape.chunks - 1;
    std::map<ActionKind, int> count;
    for (const auto& actions : pipeline.ranks) {
      for (const Action& action : actions) ++count[action.kind];
    }
    EXPECT_EQ(count[ActionKind::send_activation], boundaries * c.shape.microbatches);
    EXPECT_EQ(count[ActionKind::receive_activation], boundaries * c.shape.microbatches);
    EXPECT_EQ(count[ActionKind::send_gradient], trains ? boundaries * c.shape.microbatches : 0);
    EXPECT_EQ(count[ActionKind::receive_gradient], trains ? boundaries * c.shape.microbatches : 0);
    EXPECT_EQ(count[ActionKind::reduce_wait], trains ? c.shape.stages : 0);
    EXPECT_EQ(count[ActionKind::step], trains ? c.shape.stages : 0);
  }
}

TEST(MakePipeline, AddsGradientsInAscendingOrder) {
  for (const Case& c : grid()) {
    const Pipeline pipeline = make_pipeline(c.kind, c.shape);
    for (int rank = 0; rank < pipeline.stages(); ++rank)
      EXPECT_FALSE(sum_out_of_order(pipeline.of(rank))) << c.text();
  }
}

TEST(MakePipeline, WritesOneRankWithoutMessages) {
  EXPECT_EQ(print(make_pipeline(ScheduleKind::one_forward_one_backward, {.microbatches = 2})),
            "trireme-pipeline 1 stages 1 microbatches 2 chunks 1\nrank 0\n"
            "  0F0 0B0 0F1 0B1 reduce_wait step\n");
}

TEST(MakePipeline, PostsReceivesBeforeTheComputingThatIsUnderWayWhenTheyCome) {
  EXPECT_EQ(print(make_pipeline(ScheduleKind::one_forward_one_backward,
                                {.stages = 2, .microbatches = 3})),
            "trireme-pipeline 1 stages 2 microbatches 3 chunks 1\n"
            "rank 0\n"
            "  0F0 >0F0 <0B0 0F1 >0F1 0B0 <0B1 0F2 >0F2 <0B2 0B1 0B2 reduce_wait step\n"
            "rank 1\n"
            "  <0F0 0F0 <0F1 0B0 >0B0 0F1 <0F2 0B1 >0B1 0F2 0B2 >0B2 reduce_wait step\n");
}

TEST(Interleaved, OrdersAsInThePapersFigure) {
  // SC'21 figure 4, p = 4, m = 8, v = 2, first device: ten warm-up forwards, then in turn.
  const Schedule schedule = interleaved({.stages = 4, .microbatches = 8, .chunks = 2}, 0);
  EXPECT_EQ(print(schedule),
            "trireme-schedule 1 microbatches 8 chunks 2\n"
            "0F0 0F1 0F2 0F3 1F0 1F1 1F2 1F3 0F4 0F5 0F6 1B0 0F7 1B1 1F4 1B2 1F5 1B3 1F6 0B0 1F7 "
            "0B1 0B2 0B3 1B4 1B5 1B6 1B7 0B4 0B5 0B6 0B7 step\n");
}

TEST(Interleaved, RefusesMicrobatchesThatAreNoMultipleWithTheNearest) {
  try {
    static_cast<void>(interleaved({.stages = 4, .microbatches = 6, .chunks = 2}, 0));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()),
              "interleaved schedule: 6 microbatches; interleaving needs a multiple of p = 4 (SC'21 "
              "section 2.2.2); use --num-microbatches 4 or 8, or --schedule gpipe");
    EXPECT_EQ(error.kind(), Error::Kind::usage);
  }
  for (const PipelineShape& shape :
       std::vector<PipelineShape>{{.stages = 4, .microbatches = 8, .chunks = 1},
                                  {.stages = 4, .microbatches = 3, .chunks = 2},
                                  {.stages = 4, .microbatches = 8, .chunks = 2, .group = 3},
                                  {.stages = 4, .microbatches = 8, .chunks = 2, .group = 9},
                                  {.stages = 4, .microbatches = 18, .chunks = 2, .group = 8}})
    EXPECT_THROW(static_cast<void>(interleaved(shape, 0)), Error);
  EXPECT_THROW(static_cast<void>(one_forward_one_backward({.stages = 2, .chunks = 2}, 0)), Error);
}

TEST(InFlight, IsWhatThePaperSays) {
  for (const Case& c : grid()) {
    SCOPED_TRACE(c.text());
    const auto [p, m, v, group] = c.shape;
    const Pipeline pipeline = make_pipeline(c.kind, c.shape);
    for (int r = 0; r < p; ++r) {
      const SlotAssignment slots = assign_slots(pipeline.of(r));
      switch (c.kind) {
        case ScheduleKind::gpipe:
          EXPECT_EQ(slots.chunks_in_flight, m * v);
          break;
        case ScheduleKind::one_forward_one_backward:
          EXPECT_EQ(slots.chunks_in_flight, std::min(m, p - r));
          break;
        case ScheduleKind::interleaved:
          EXPECT_EQ(slots.chunks_in_flight,
                    std::min(m * v, 2 * (p - r - 1) + (v - 1) * c.shape.group_size() + 1));
          break;
        case ScheduleKind::forward_only:
          EXPECT_EQ(slots.chunks_in_flight, 1);
          break;
      }
      for (const int chunk : slots.in_flight) EXPECT_LE(chunk, slots.chunks_in_flight);
    }
  }
}

TEST(Buffers, StayFewHoweverManyMicrobatchesThereAre) {
  for (const Case& c : grid()) {
    SCOPED_TRACE(c.text());
    const Pipeline pipeline = make_pipeline(c.kind, c.shape);
    for (int rank = 0; rank < pipeline.stages(); ++rank) {
      const BufferAssignment buffers = assign_buffers(pipeline.of(rank));
      EXPECT_LE(buffers.send_activation.count, kSendBuffers);
      // The last rank's output waits for its turn on the first where a group is wider than p.
      const int wait = std::max(0, c.shape.group_size() - c.shape.stages);
      // Activations stay until the weight gradient has read them.
      const int held = c.kind == ScheduleKind::forward_only
                           ? 0
                           : assign_slots(pipeline.of(rank)).chunks_in_flight;
      EXPECT_LE(buffers.receive_activation.count, held + 3 + wait);
      EXPECT_LE(buffers.receive_gradient.count, 3 + wait);
    }
  }
}

TEST(Buffers, AreNotGivenToTwoMessagesAtOnce) {
  for (const Case& c : grid()) {
    const Pipeline pipeline = make_pipeline(c.kind, c.shape);
    for (int rank = 0; rank < pipeline.stages(); ++rank) {
      const BufferAssignment buffers = assign_buffers(pipeline.of(rank));
      std::vector<int> holder(static_cast<size_t>(buffers.receive_activation.count), -1);
      for (const Action& action : pipeline.ranks[static_cast<size_t>(rank)]) {
        if (!has_microbatch(action.kind)) continue;
        const int slot =
            buffers.receive_activation.slot[static_cast<size_t>(action.chunk.value)]
                                           [static_cast<size_t>(action.microbatch.value)];
        if (slot < 0) continue;
        const int id = action.chunk.value * 1000 + action.microbatch.value;
        int& held = holder.at(static_cast<size_t>(slot));
        if (action.kind == ActionKind::receive_activation) {
          EXPECT_EQ(held, -1) << c.text();
          held = id;
        } else if (is_computing(action.kind)) {
          EXPECT_EQ(held, id) << c.text();
          const bool is_last = makes_weight_gradient(action.kind) || !pipeline.trains();
          if (is_last) held = -1;
        }
      }
    }
  }
}

TEST(Timeline, HasThePapersBubbleForEqualStages) {
  for (const Case& c : grid()) {
    if (c.kind == ScheduleKind::forward_only) continue;
    const auto [p, m, v, group] = c.shape;
    if (m % p != 0 && v > 1) continue;
    SCOPED_TRACE(c.text());
    const Pipeline pipeline = make_pipeline(c.kind, c.shape);
    const Timeline times = timeline(pipeline, equal_durations(1, 2, v));
    EXPECT_NEAR(times.makespan, 3.0 * m + 3.0 * (p - 1) / v, 1e-9);
    EXPECT_NEAR(times.bubble(), ideal_bubble(p, m, v), 1e-9);
    for (int r = 0; r < p; ++r) EXPECT_NEAR(times.busy(r), 3.0 * m, 1e-9);
  }
}

TEST(Timeline, IsNotLongerForMessagesThanForComputingAloneWhereTheyAreFree) {
  for (const Case& c : grid()) {
    const Pipeline pipeline = make_pipeline(c.kind, c.shape);
    const Durations durations = equal_durations(1, 2, 1);
    EXPECT_NEAR(timeline(pipeline, durations).makespan,
                timeline(computing_of(pipeline), durations).makespan, 1e-9)
        << c.text();
  }
}

TEST(Timeline, WaitsForMessagesAndHidesThemBehindComputing) {
  const PipelineShape shape = {.stages = 2, .microbatches = 2};
  const Pipeline pipeline = make_pipeline(ScheduleKind::gpipe, shape);
  const Timeline times = timeline(pipeline, equal_durations(2, 4, 1, 1));
  // Rank 1: F0 at 3, F1 at 5 (its message came at 5), B0 at 7; rank 0 gets the last at 16.
  EXPECT_EQ(times.makespan, 2 + 1 + 2 + 2 + 4 + 4 + 1 + 4);
  for (const Transfer& message : times.messages) EXPECT_EQ(message.end - message.start, 1);
}

TEST(Timeline, RunsEveryRankInTheOrderOfItsSchedule) {
  for (const Case& c : grid()) {
    const Pipeline pipeline = make_pipeline(c.kind, c.shape);
    const Timeline times = timeline(pipeline, equal_durations(1, 2, 1, 0.25));
    for (size_t rank = 0; rank < pipeline.ranks.size(); ++rank) {
      double before = 0;
      for (size_t i = 0; i < pipeline.ranks[rank].size(); ++i) {
        EXPECT_EQ(times.ranks[rank][i].action, pipeline.ranks[rank][i]);
        EXPECT_GE(times.ranks[rank][i].start, before);
        before = times.ranks[rank][i].end;
      }
    }
  }
}

TEST(InsertCommunication, GivesBackTheBuiltInSchedulesFromTheirComputing) {
  for (const Case& c : grid()) {
    const Pipeline pipeline = make_pipeline(c.kind, c.shape);
    EXPECT_EQ(insert_communication(computing_of(pipeline)), pipeline) << c.text();
    EXPECT_EQ(insert_communication(pipeline), pipeline) << c.text();
  }
}

TEST(InsertCommunication, SendsAGradientBeforeTheWeightGradient) {
  Pipeline split = computing_of(
      make_pipeline(ScheduleKind::one_forward_one_backward, {.stages = 3, .microbatches = 5}));
  for (int rank = 0; rank < 3; ++rank)
    split.ranks[static_cast<size_t>(rank)] = split_backwards(split.of(rank)).actions;
  const Pipeline pipeline = insert_communication(split);
  EXPECT_NO_THROW(validate(pipeline));
  const std::vector<Action>& last = pipeline.ranks.back();
  const auto input = std::find(last.begin(), last.end(), *Action::parse("0I0"));
  ASSERT_NE(input, last.end());
  EXPECT_EQ((input + 1)->text(), ">0B0");
  EXPECT_EQ((input + 2)->text(), "0W0");
  // The stage before begins while the weight gradient is made: the bubble shrinks.
  EXPECT_LT(timeline(pipeline, equal_durations(1, 2, 1)).bubble(), ideal_bubble(3, 5, 1));
}

TEST(PipelineText, PrintsAndParsesBack) {
  for (const Case& c : grid()) {
    const Pipeline pipeline = make_pipeline(c.kind, c.shape);
    EXPECT_EQ(parse_pipeline(print(pipeline)), pipeline) << c.text();
  }
  const Pipeline one = parse_pipeline("trireme-schedule 1 microbatches 1 chunks 1\n0F0 0B0 step");
  EXPECT_EQ(one.stages(), 1);
}

}  // namespace
}  // namespace trireme::schedule
