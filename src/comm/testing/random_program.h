#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string_view>
#include <thread>

#include "comm/testing/ranks.h"
#include "core/format.h"

// Random programs on a world of p = t = d = 2, or of fewer ranks: many exchanges under way at once,
// in several groups and channels, waited for in any order. rank = t + 2 (d + 2 p).

namespace trireme::comm::testing {

using program::Reduction;

/// Ranks that differ in some bits of their number.
struct Kind {
  const char* name;
  int bits;
  bool descending;
};
inline constexpr std::array<Kind, 6> kKinds = {{{"tensor", 1, false},
                                                {"data", 2, true},
                                                {"pipeline", 4, false},
                                                {"tensor and data", 3, false},
                                                {"model", 5, true},
                                                {"all", 7, false}}};

/// Of so many ranks of the world, those in one group with a rank.
inline std::vector<int> members_of(const Kind& kind, int ranks, int rank) {
  std::vector<int> members;
  for (int other = 0; other < ranks; ++other) {
    if ((other & ~kind.bits) == (rank & ~kind.bits)) members.push_back(other);
  }
  if (kind.descending) std::reverse(members.begin(), members.end());
  return members;
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

inline std::vector<Step> random_steps(uint32_t seed, int count, int ranks) {
  std::mt19937 random(seed);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<uint32_t>(n)); };
  std::vector<Step> steps;
  for (int i = 0; i < count; ++i) {
    Step step = {};
    step.kind = static_cast<size_t>(below(kKinds.size()));
    step.some_member = below(ranks);
    step.verb = std::array{Verb::all_reduce, Verb::reduce_scatter, Verb::all_gather, Verb::send,
                           Verb::send}[static_cast<size_t>(below(5))];
    step.reduction =
        step.verb == Verb::all_reduce && below(2) == 0 ? Reduction::maximum : Reduction::sum;
    step.traffic = static_cast<Traffic>(below(kTraffics));
    step.elements = below(4) == 0 ? below(90'000) : below(100);
    const auto size =
        static_cast<int>(members_of(kKinds[step.kind], ranks, step.some_member).size());
    if (size == 1 && step.verb == Verb::send) step.verb = Verb::all_reduce;
    step.first = below(size);
    step.second = (step.first + 1 + below(std::max(1, size - 1))) % size;
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

/// A rank's part of the program; the bytes that it sent. All ranks call it with the same steps.
inline int64_t run_program(Member& member, uint32_t seed, const std::vector<Step>& steps) {
  const int me = member.port.rank();
  const int world = member.port.size();
  std::vector<std::unique_ptr<Communicator>> groups;
  for (const Kind& kind : kKinds)
    groups.push_back(member.port.make_group(kind.name, members_of(kind, world, me)));
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
    const std::vector<int> ranks = members_of(kKinds[step.kind], world, step.some_member);
    Communicator& group = *groups[step.kind];
    if (ranks != members_of(kKinds[step.kind], world, me)) continue;
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
  int64_t sent = 0;
  for (const auto& group : groups) sent += group->bytes_sent().total();
  member.port.finish(*member.stream);
  return sent;
}

/// Bytes that all of so many ranks send.
inline int64_t volume(const std::vector<Step>& steps, int ranks) {
  int64_t bytes = 0;
  for (const Step& step : steps) {
    const auto others =
        static_cast<int64_t>(members_of(kKinds[step.kind], ranks, step.some_member).size() - 1);
    bytes += step.elements * 4 *
             (step.verb == Verb::send         ? 1
              : step.verb == Verb::all_reduce ? 2 * others
                                              : others);
  }
  return bytes;
}

}  // namespace trireme::comm::testing
