// The memory of a rank follows from its order of work, and is what its session allocates.

#include <gtest/gtest.h>

#include "counting_device.h"
#include "cut_ranks.h"

namespace trireme {
namespace {

using model::ArenaKind;
using schedule::ScheduleKind;

// A tiny model of 8 layers on one rank of a pipeline.
model::RunPlan plan_of(const Cut& cut, int m, int rank, bool evaluate = false) {
  Model model;
  model.shape.layers = 8;
  model.global_batch = m;
  model::RunRequest request = request_of(model, cut, rank);
  request.evaluate = evaluate;
  return model::plan_run(request);
}

// What every order has in common.
void expect_memory_of_order(const model::RunPlan& plan) {
  const model::BatchPlan& batch = plan.largest_batch();
  int64_t activations = 0;
  for (size_t chunk = 0; chunk < plan.chunks.size(); ++chunk) {
    EXPECT_EQ(plan.memory.chunks[chunk].in_flight, batch.assignment.in_flight[chunk]);
    EXPECT_EQ(plan.memory.chunks[chunk].slot_bytes, plan.train[chunk].slots.saved_bytes);
    activations += batch.assignment.in_flight[chunk] * plan.train[chunk].slots.saved_bytes;
  }
  EXPECT_EQ(plan.memory[ArenaKind::activations], activations);
  const schedule::BufferAssignment& buffers = batch.buffers;
  for (const auto& [arena, count] :
       {std::pair{ArenaKind::received_activations, buffers.receive_activation.count},
        {ArenaKind::sent_activations, buffers.send_activation.count},
        {ArenaKind::received_gradients, buffers.receive_gradient.count},
        {ArenaKind::sent_gradients, buffers.send_gradient.count}})
    EXPECT_EQ(plan.memory[arena], count * plan.message_bytes) << model::name_of(arena);
}

TEST(Memory, HoldsPMinusRankMicrobatchesOf1F1B) {
  for (const int p : {1, 2, 4, 8}) {
    for (const int m : {1, 2, 3, 8, 40}) {
      for (int rank = 0; rank < p; ++rank) {
        const model::RunPlan plan = plan_of({.p = p}, m, rank);
        SCOPED_TRACE(format("p {} m {} rank {}", p, m, rank));
        EXPECT_EQ(plan.memory.chunks[0].in_flight, std::min(m, p - rank));
        expect_memory_of_order(plan);
        // What is received stays until its backward, and the next one may be on its way.
        const schedule::BufferAssignment& buffers = plan.largest_batch().buffers;
        EXPECT_LE(buffers.receive_activation.count, std::min(m, p - rank) + 1);
        EXPECT_LE(buffers.receive_gradient.count, 3);
        EXPECT_LE(buffers.send_activation.count, schedule::kSendBuffers);
        EXPECT_LE(buffers.send_gradient.count, schedule::kSendBuffers);
      }
    }
  }
}

TEST(Memory, HoldsAllMicrobatchesOfGPipe) {
  for (const int m : {1, 4, 7})
    EXPECT_EQ(plan_of({.p = 4, .kind = ScheduleKind::gpipe}, m, 1).memory.chunks[0].in_flight, m);
}

// SC'21 section 2.2.2: on the first rank the warm-up and one more.
TEST(Memory, HoldsTheWarmUpOfTheInterleavedSchedule) {
  for (const auto& [p, v] : {std::pair{2, 2}, {2, 4}, {4, 2}}) {
    for (const int m : {p, 2 * p, 4 * p, 10 * p}) {
      SCOPED_TRACE(format("p {} v {} m {}", p, v, m));
      for (int rank = 0; rank < p; ++rank) {
        const model::RunPlan plan = plan_of({.p = p, .v = v}, m, rank);
        expect_memory_of_order(plan);
        const schedule::SlotAssignment& slots = plan.largest_batch().assignment;
        const int warm_up = std::min(m * v, 2 * (p - rank - 1) + (v - 1) * p);
        EXPECT_EQ(slots.chunks_in_flight, std::min(m * v, warm_up + 1)) << rank;
        // Chunks have their most at different times; each of them is bounded whatever m is.
        for (const int in_flight : slots.in_flight) EXPECT_LE(in_flight, std::min(m, 3 * p));
        const schedule::BufferAssignment& buffers = plan.largest_batch().buffers;
        EXPECT_LE(buffers.receive_gradient.count, 3);
      }
    }
  }
}

TEST(Memory, OfABatchThatGrowsIsThatOfTheLargest) {
  Model model;
  model.global_batch = 8;
  model.ramp_up = {1, 2};
  const model::RunPlan plan = model::plan_run(request_of(model, {.p = 4}, 0));
  ASSERT_EQ(plan.batches.size(), 3U);
  EXPECT_EQ(plan.memory.chunks[0].in_flight, 4);
  EXPECT_EQ(plan.batches[0].assignment.in_flight[0], 1);
}

TEST(Memory, OfASessionIsWhatItsPlanSays) {
  EightRanks eight;
  eight.model.shape.layers = 4;
  Cut interleaved = eight.cut;
  interleaved.v = 2;
  for (const Cut& cut : {eight.cut, interleaved}) {
    comm::run_ranks({.ranks = EightRanks::kRanks, .places = eight.places}, [&](comm::Port& port) {
      CountingDevice device;
      const engine::RankGroups groups(port, parallel::Topology(cut.p, cut.t, cut.d));
      const engine::Session session(model::plan_run(request_of(eight.model, cut, port.rank())),
                                    {.device = &device, .kernels = &ops::cpu_kernels()},
                                    groups.all());
      EXPECT_EQ(device.given(), session.plan().memory.total());
    });
  }
}

}  // namespace
}  // namespace trireme
