// Random programs on a world of p = t = d = 2: many exchanges under way at once, in several groups
// and channels, waited for in any order.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <random>
#include <thread>

#include "comm/record/faulty_transport.h"
#include "comm/testing/ranks.h"
#include "core/format.h"

namespace trireme::comm {
namespace {

using program::Reduction;
using testing::expected_of;
using testing::first_difference;
using testing::Member;
using testing::values_of;

constexpr int kRanks = 8;  // rank = t + 2 (d + 2 p)

/// Ranks that differ in some bits of their number.
struct Kind {
  const char* name;
  int bits;
  bool descending;
};
constexpr std::array<Kind, 6> kKinds = {{{"tensor", 1, false},
                                         {"data", 2, true},
                                         {"pipeline", 4, false},
                                         {"tensor and data", 3, false},
                                         {"model", 5, true},
                                         {"all", 7, false}}};

std::vector<int> members_of(const Kind& kind, int rank) {
  std::vector<int> ranks;
  for (int other = 0; other < kRanks; ++other) {
    if ((other & ~kind.bits) == (rank & ~kind.bits)) ranks.push_back(other);
  }
  if (kind.descending) std::reverse(ranks.begin(), ranks.end());
  return ranks;
}

/// One exchange of the random program, known to all ranks.
struct Step {
  size_t kind;
  int some_member;  // of the group that does it
  Verb verb;        // send: from first to second, ranks of the group
  Reduction reduction;
  Traffic traffic;
  int64_t elements;
  int first;
  int second;
};

std::vector<Step> random_steps(uint32_t seed, int count) {
  std::mt19937 random(seed);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<uint32_t>(n)); };
  std::vector<Step> steps;
  for (int i = 0; i < count; ++i) {
    Step step = {};
    step.kind = static_cast<size_t>(below(kKinds.size()));
    step.some_member = below(kRanks);
    step.verb = std::array{Verb::all_reduce, Verb::reduce_scatter, Verb::all_gather, Verb::send,
                           Verb::send}[static_cast<size_t>(below(5))];
    step.reduction =
        step.verb == Verb::all_reduce && below(2) == 0 ? Reduction::maximum : Reduction::sum;
    step.traffic = static_cast<Traffic>(below(kTraffics));
    step.elements = below(4) == 0 ? below(90'000) : below(100);
    const auto size = static_cast<int>(members_of(kKinds[step.kind], step.some_member).size());
    step.first = below(size);
    step.second = (step.first + 1 + below(size - 1)) % size;
    steps.push_back(step);
  }
  return steps;
}

/// What one rank has of a step under way.
struct Open {
  Communicator* group;
  Request request;
  std::vector<float> buffer;
  std::vector<float> expected;
};

void run_program(Member& member, uint32_t seed, const std::vector<Step>& steps,
                 std::atomic<int64_t>& sent) {
  const int me = member.port.rank();
  std::vector<std::unique_ptr<Communicator>> groups;
  for (const Kind& kind : kKinds)
    groups.push_back(member.port.make_group(kind.name, members_of(kind, me)));
  std::mt19937 random(seed * 977 + static_cast<uint32_t>(me));
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  std::vector<Open> open;
  const auto close = [&](size_t which) {
    Open& one = open[which];
    member.wait(*one.group, one.request);
    EXPECT_EQ(first_difference(one.buffer, one.expected), -1) << "seed " << seed;
    std::swap(one, open.back());
    open.pop_back();
  };
  for (size_t number = 0; number < steps.size(); ++number) {
    const Step& step = steps[number];
    const std::vector<int> ranks = members_of(kKinds[step.kind], step.some_member);
    Communicator& group = *groups[step.kind];
    if (ranks != members_of(kKinds[step.kind], me)) continue;
    const bool channel = step.verb == Verb::send;
    if (channel && group.rank() != step.first && group.rank() != step.second) continue;
    Open one = {.group = &group, .buffer = values_of(me, number, step.elements)};
    Exchange exchange = {.verb = step.verb,
                         .traffic = step.traffic,
                         .reduction = step.reduction,
                         .buffer = reinterpret_cast<std::byte*>(one.buffer.data()),
                         .bytes = step.elements * 4,
                         .what = std::string_view(format("step {}", number))};
    if (channel) {
      const bool sends = group.rank() == step.first;
      exchange.verb = sends ? Verb::send : Verb::receive;
      exchange.peer = sends ? step.second : step.first;
      one.expected = values_of(ranks[static_cast<size_t>(step.first)], number, step.elements);
    } else {
      one.expected =
          expected_of(step.verb, step.reduction, ranks, group.rank(), number, step.elements);
    }
    one.request = group.start(*member.stream, exchange);
    open.push_back(std::move(one));
    if (below(3) == 0) groups[below(groups.size())]->progress();
    if (below(8) == 0) std::this_thread::yield();
    const size_t most = 1 + below(20);
    while (open.size() > most) close(below(open.size()));
  }
  while (!open.empty()) close(below(open.size()));
  for (const auto& group : groups) sent += group->bytes_sent().total();
  member.port.finish(*member.stream);
}

int64_t volume(const std::vector<Step>& steps) {
  int64_t bytes = 0;
  for (const Step& step : steps) {
    const auto others =
        static_cast<int64_t>(members_of(kKinds[step.kind], step.some_member).size() - 1);
    bytes += step.elements * 4 *
             (step.verb == Verb::send         ? 1
              : step.verb == Verb::all_reduce ? 2 * others
                                              : others);
  }
  return bytes;
}

TEST(Interleaving, OfGroupsAndChannelsChangesNoBitAndLosesNoByte) {
  for (uint32_t seed = 1; seed <= 12; ++seed) {
    const std::vector<Step> steps = random_steps(seed, 150);
    std::atomic<int64_t> sent = 0;
    testing::run_members(kRanks, [&](Member& member) { run_program(member, seed, steps, sent); });
    EXPECT_EQ(sent, volume(steps)) << "seed " << seed;
  }
}

TEST(Interleaving, BearsLateMessages) {
  for (uint32_t seed = 1; seed <= 12; ++seed) {
    const std::vector<Step> steps = random_steps(100 + seed, 60);
    std::atomic<int64_t> sent = 0;
    std::array<SentMessages, kRanks> notes;
    LocalRun run = {.ranks = kRanks};
    run.between = [&](std::unique_ptr<Transport> inner) -> std::unique_ptr<Transport> {
      const auto rank = static_cast<size_t>(inner->rank());
      return std::make_unique<FaultyTransport>(
          std::move(inner), Plant{Fault::delay, seed * 5 + 3 * rank}, notes[rank]);
    };
    testing::run_members(run, [&](Member& member) { run_program(member, seed, steps, sent); });
    EXPECT_EQ(sent, volume(steps)) << "seed " << seed;
  }
}

// Ranks of the world are asked for by several runs at once in one process.
TEST(Interleaving, KeepsWorldsApart) {
  const std::vector<Step> steps = random_steps(7, 60);
  std::array<std::atomic<int64_t>, 3> sent = {};
  std::vector<std::thread> worlds;
  for (auto& its : sent) {
    worlds.emplace_back([&] {
      testing::run_members(kRanks, [&](Member& member) { run_program(member, 7, steps, its); });
    });
  }
  for (std::thread& world : worlds) world.join();
  for (const auto& its : sent) EXPECT_EQ(its, volume(steps));
}

}  // namespace
}  // namespace trireme::comm
