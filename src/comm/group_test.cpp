// All verbs of groups, on ranks that are threads.
#include "comm/group.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>

#include "comm/testing/ranks.h"
#include "core/format.h"

namespace trireme::comm {
namespace {

using program::Reduction;
using testing::expected_of;
using testing::first_difference;
using testing::Member;
using testing::run_members;
using testing::values_of;

std::vector<int> up_to(int ranks) {
  std::vector<int> all(static_cast<size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

struct Case {
  Verb verb;
  Reduction reduction;
};
constexpr Case kCases[] = {{Verb::all_reduce, Reduction::sum},
                           {Verb::all_reduce, Reduction::maximum},
                           {Verb::reduce_scatter, Reduction::sum},
                           {Verb::all_gather, Reduction::sum}};

Exchange exchange_of(const Case& collective, std::vector<float>& buffer,
                     std::span<const int64_t> cuts = {}) {
  return {.verb = collective.verb,
          .reduction = collective.reduction,
          .buffer = reinterpret_cast<std::byte*>(buffer.data()),
          .bytes = static_cast<int64_t>(buffer.size() * 4),
          .cuts = cuts};
}

// Bytes that the whole group sends.
int64_t volume(Verb verb, int ranks, int64_t bytes) {
  return (verb == Verb::all_reduce ? 2 : 1) * (ranks - 1) * bytes;
}

class Ranks : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(OneToEight, Ranks, ::testing::Range(1, 9));

TEST_P(Ranks, ExchangeEverySizeInOurOwnOrderToTheBit) {
  const int ranks = GetParam();
  const std::vector<int> all = up_to(ranks);
  // The last ones: more pieces than are on their way at once, and an odd rest.
  const std::vector<int64_t> sizes = {0,  1,  2,  3,      15,      16,
                                      17, 33, 97, 12'345, 300'001, 20 * kPieceBytes / 4 + 7};
  std::atomic<int64_t> sent = 0;
  run_members(ranks, [&](Member& member) {
    const auto group = member.port.make_group("all", all);
    uint64_t number = 0;
    for (const int64_t elements : sizes) {
      for (const Case& collective : kCases) {
        std::vector<float> buffer = values_of(group->rank(), ++number, elements);
        member.wait(*group, group->start(*member.stream, exchange_of(collective, buffer)));
        const int64_t difference =
            first_difference(buffer, expected_of(collective.verb, collective.reduction, all,
                                                 group->rank(), number, elements));
        EXPECT_EQ(difference, -1) << name_of(collective.verb) << " of " << elements << " elements";
      }
    }
    sent += group->bytes_sent().total();
    member.port.finish(*member.stream);
  });
  int64_t expected = 0;
  for (const int64_t elements : sizes) {
    for (const Case& collective : kCases) expected += volume(collective.verb, ranks, elements * 4);
  }
  EXPECT_EQ(sent, expected) << "the volume of a ring, exactly, whatever the slices";
}

TEST_P(Ranks, CutWhereTheCallerSays) {
  const int ranks = GetParam();
  const std::vector<int> all = up_to(ranks);
  const int64_t elements = 50'000;
  // Uneven, some empty: rank r has r parts of the whole.
  std::vector<int64_t> cuts = {0};
  for (int r = 0; r < ranks; ++r)
    cuts.push_back(cuts.back() + elements * r / std::max(1, ranks * (ranks - 1) / 2) * 4);
  cuts.back() = elements * 4;
  run_members(ranks, [&](Member& member) {
    const auto group = member.port.make_group("all", all);
    uint64_t number = 0;
    for (const Case& collective : kCases) {
      std::vector<float> buffer = values_of(group->rank(), ++number, elements);
      const BytesSent before = group->bytes_sent();
      member.wait(*group, group->start(*member.stream, exchange_of(collective, buffer, cuts)));
      EXPECT_EQ(first_difference(buffer, expected_of(collective.verb, collective.reduction, all,
                                                     group->rank(), number, elements, cuts)),
                -1);
      const auto me = static_cast<size_t>(group->rank());
      const int64_t own = cuts[me + 1] - cuts[me];
      const int64_t lent = collective.verb == Verb::all_gather ? 0 : elements * 4 - own;
      const int64_t handed = collective.verb == Verb::reduce_scatter ? 0 : own * (ranks - 1);
      EXPECT_EQ(group->bytes_sent().total() - before.total(), lent + handed);
    }
  });
}

TEST_P(Ranks, PassBytesAlongARing) {
  const int ranks = GetParam();
  if (ranks == 1) return;  // a rank sends nothing to itself
  run_members(ranks, [&](Member& member) {
    const auto group = member.port.make_group("ring", up_to(ranks));
    const int next = (group->rank() + 1) % ranks;
    const int previous = (group->rank() + ranks - 1) % ranks;
    uint64_t number = 0;
    int64_t total = 0;
    for (const int64_t elements : {0, 1, 1'000, 200'000}) {
      const std::vector<float> out = values_of(group->rank(), ++number, elements);
      std::vector<float> in(out.size());
      // All send first: a send waits for nobody.
      const Request sent = group->start_send(*member.stream, next, out.data(), elements * 4,
                                             Traffic::activation, "0F1");
      const Request got = group->start_receive(*member.stream, previous, in.data(), elements * 4,
                                               Traffic::activation, "0F1");
      member.wait(*group, sent);
      member.wait(*group, got);
      EXPECT_EQ(first_difference(in, values_of(previous, number, elements)), -1);
      total += elements * 4;
    }
    EXPECT_EQ(group->bytes_sent()[Traffic::activation], total);
    EXPECT_EQ(group->bytes_sent().total(), total);
    member.port.finish(*member.stream);
  });
}

TEST(Group, OrdersItsSumsByItsListOfRanks) {
  const std::vector<int> list = {2, 0, 3};
  run_members(4, [&](Member& member) {
    if (member.port.rank() == 1) return;
    const auto group = member.port.make_group("some", list);
    EXPECT_EQ(list[static_cast<size_t>(group->rank())], member.port.rank());
    std::vector<float> buffer = values_of(member.port.rank(), 1, 999);
    member.wait(*group, group->start(*member.stream, exchange_of(kCases[0], buffer)));
    EXPECT_EQ(first_difference(buffer, expected_of(Verb::all_reduce, Reduction::sum, list,
                                                   group->rank(), 1, 999)),
              -1);
  });
}

TEST(Group, GathersDoublesAsBytes) {
  run_members(3, [&](Member& member) {
    Communicator& world = member.port.world();
    const std::vector<int64_t> cuts = {0, 8, 32, 40};
    std::vector<double> squares(5, -1);
    for (int64_t i = cuts[static_cast<size_t>(world.rank())] / 8;
         i < cuts[static_cast<size_t>(world.rank()) + 1] / 8; ++i)
      squares[static_cast<size_t>(i)] = 0.1 * static_cast<double>(i);
    member.wait(world,
                world.start_all_gather(*member.stream, squares.data(), 40, Traffic::norm, cuts));
    for (size_t i = 0; i < squares.size(); ++i) EXPECT_EQ(squares[i], 0.1 * static_cast<double>(i));
  });
}

TEST(Group, KeepsKindsOfTrafficApart) {
  run_members(2, [&](Member& member) {
    Communicator& world = member.port.world();
    constexpr std::array<Traffic, 3> kKinds = {Traffic::activation, Traffic::gradient,
                                               Traffic::token};
    std::array<std::array<int, 2>, 3> sent = {{{1, 2}, {3, 4}, {5, 6}}};
    std::array<std::array<int, 2>, 3> got = {};
    std::vector<Request> requests;
    // Received in another order than sent, but each kind in its own.
    for (size_t message = 0; message < 2; ++message) {
      for (size_t kind = 0; kind < 3; ++kind) {
        requests.push_back(world.start_send(*member.stream, 1 - world.rank(), &sent[kind][message],
                                            4, kKinds[kind]));
      }
    }
    for (const size_t kind : {2, 0, 1}) {
      for (size_t message = 0; message < 2; ++message) {
        requests.push_back(world.start_receive(*member.stream, 1 - world.rank(),
                                               &got[kind][message], 4, kKinds[kind]));
      }
    }
    while (!requests.empty()) {
      member.wait(world, requests.back());
      requests.pop_back();
    }
    EXPECT_EQ(got, sent);
    for (const Traffic kind : kKinds) EXPECT_EQ(world.bytes_sent()[kind], 8);
    EXPECT_EQ(world.bytes_sent()[Traffic::loss], 0);
  });
}

TEST(Group, HasManyCollectivesUnderWayAtOnce) {
  constexpr int kMany = 100;
  run_members(4, [&](Member& member) {
    Communicator& world = member.port.world();
    std::vector<std::vector<float>> buffers;
    std::vector<Request> requests;
    for (int i = 0; i < kMany; ++i)
      buffers.push_back(values_of(world.rank(), static_cast<uint64_t>(i), 1'000 + i));
    for (auto& buffer : buffers)
      requests.push_back(world.start(*member.stream, exchange_of(kCases[0], buffer)));
    for (int i = kMany - 1; i >= 0; --i) {
      member.wait(world, requests[static_cast<size_t>(i)]);
      EXPECT_EQ(first_difference(buffers[static_cast<size_t>(i)],
                                 expected_of(Verb::all_reduce, Reduction::sum, up_to(4),
                                             world.rank(), static_cast<uint64_t>(i), 1'000 + i)),
                -1);
    }
  });
}

TEST(Group, MovesOnByProgressAlone) {
  run_members(2, [&](Member& member) {
    Communicator& world = member.port.world();
    std::vector<float> buffer = values_of(world.rank(), 1, 2'000'000);
    const Request request = world.start(*member.stream, exchange_of(kCases[0], buffer));
    const auto expected =
        expected_of(Verb::all_reduce, Reduction::sum, up_to(2), world.rank(), 1, 2'000'000);
    // Computing, so to speak, with a look at the others between two ops.
    const auto deadline = std::chrono::steady_clock::now() + testing::kLong;
    while (first_difference(buffer, expected) != -1 && std::chrono::steady_clock::now() < deadline)
      world.progress();
    EXPECT_EQ(first_difference(buffer, expected), -1) << "the wait has nothing left to do";
    member.wait(world, request);
  });
}

TEST(GroupDeathTest, WaitsForEachRequestOnce) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(run_members(1,
                           [](Member& member) {
                             std::vector<float> buffer(3);
                             Communicator& world = member.port.world();
                             const Request request =
                                 world.start(*member.stream, exchange_of(kCases[0], buffer));
                             member.wait(world, request);
                             member.wait(world, request);
                           }),
               "waited for once");
}

}  // namespace
}  // namespace trireme::comm
