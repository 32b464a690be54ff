// Random programs on ranks that are threads.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>

#include "comm/record/faulty_transport.h"
#include "comm/testing/random_program.h"

namespace trireme::comm {
namespace {

using testing::Member;
using testing::random_steps;
using testing::run_program;
using testing::Step;
using testing::volume;

constexpr int kRanks = 8;

TEST(Interleaving, OfGroupsAndChannelsChangesNoBitAndLosesNoByte) {
  for (uint32_t seed = 1; seed <= 12; ++seed) {
    const std::vector<Step> steps = random_steps(seed, 150, kRanks);
    std::atomic<int64_t> sent = 0;
    testing::run_members(kRanks, [&](Member& member) { sent += run_program(member, seed, steps); });
    EXPECT_EQ(sent, volume(steps, kRanks)) << "seed " << seed;
  }
}

TEST(Interleaving, BearsLateMessages) {
  for (uint32_t seed = 1; seed <= 12; ++seed) {
    const std::vector<Step> steps = random_steps(100 + seed, 60, kRanks);
    std::atomic<int64_t> sent = 0;
    std::array<SentMessages, kRanks> notes;
    LocalRun run = {.ranks = kRanks};
    run.between = [&](std::unique_ptr<Transport> inner) -> std::unique_ptr<Transport> {
      const auto rank = static_cast<size_t>(inner->rank());
      return std::make_unique<FaultyTransport>(
          std::move(inner), Plant{Fault::delay, seed * 5 + 3 * rank}, notes[rank]);
    };
    testing::run_members(run, [&](Member& member) { sent += run_program(member, seed, steps); });
    EXPECT_EQ(sent, volume(steps, kRanks)) << "seed " << seed;
  }
}

// Ranks of the world are asked for by several runs at once in one process.
TEST(Interleaving, KeepsWorldsApart) {
  const std::vector<Step> steps = random_steps(7, 60, kRanks);
  std::array<std::atomic<int64_t>, 3> sent = {};
  std::vector<std::thread> worlds;
  for (auto& its : sent) {
    worlds.emplace_back([&] {
      testing::run_members(kRanks, [&](Member& member) { its += run_program(member, 7, steps); });
    });
  }
  for (std::thread& world : worlds) world.join();
  for (const auto& its : sent) EXPECT_EQ(its, volume(steps, kRanks));
}

}  // namespace
}  // namespace trireme::comm
