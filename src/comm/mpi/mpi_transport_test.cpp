// The transport over a made-up MPI, whose processes are threads (comm/testing/fake_mpi.h).
#include "comm/mpi/mpi_transport.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <set>

#include "comm/mpi/build_id.h"
#include "comm/mpi/library.h"
#include "comm/testing/fake_mpi.h"
#include "comm/testing/random_program.h"

namespace trireme::comm::mpi {
namespace {

using testing::expected_of;
using testing::FakeMpi;
using testing::FakeMpiWorld;
using testing::first_difference;
using testing::Member;
using testing::run_ranks_over_mpi;
using testing::values_of;

constexpr int kRanks = 8;

// All ways for bytes to go: in the frame, behind it, fetched early, fetched when they are asked
// for; and an MPI that copies all, or nothing.
struct Way {
  const char* name;
  FakeMpi mpi;
  MpiLimits limits;
};
const Way kWays[] = {
    {"as it is", {}, {}},
    {"nothing follows", {.most_polls = 9}, {.pushed = 0, .room = 1 << 20}},
    {"no room", {.eager = int64_t{1} << 40}, {.pushed = 0, .room = 0}},
    {"little of all", {.eager = 0, .most_polls = 5}, {.pushed = 3'000, .room = 2'000}},
};

TEST(MpiTransport, RunsRandomProgramsWithTheBitsAndBytesOfThreads) {
  for (const Way& way : kWays) {
    for (uint32_t seed = 1; seed <= 2; ++seed) {
      const std::vector<testing::Step> steps = testing::random_steps(seed, 150, kRanks);
      std::atomic<int64_t> sent = 0;
      FakeMpi mpi = way.mpi;
      mpi.seed = seed;
      run_ranks_over_mpi(
          {.ranks = kRanks, .patience = {.limit = testing::kLong}},
          [&](Port& port) {
            Member member(port);
            sent += testing::run_program(member, seed, steps);
          },
          mpi, way.limits);
      EXPECT_EQ(sent, testing::volume(steps, kRanks)) << way.name << ", seed " << seed;
    }
  }
}

// What one rank sends to another that asks for it late, when all has come that comes by itself.
void flood(int64_t messages, int64_t elements, const FakeMpi& behaviour, MpiLimits limits,
           const std::function<void(const FakeMpiWorld& world, Wire& receiver)>& look) {
  FakeMpiWorld world(2, behaviour);
  std::atomic<bool> all_sent = false;
  std::array<std::thread, 2> threads;
  for (int rank = 0; rank < 2; ++rank) {
    threads[static_cast<size_t>(rank)] = std::thread([&, rank] {
      Wire wire(world.table(rank));
      auto transport = std::make_unique<MpiTransport>(wire, std::vector<std::string>(), limits);
      MpiTransport& end = *transport;
      Port port(std::move(transport), {.limit = testing::kLong});
      Member member(port);
      Communicator& group = port.world();
      std::vector<std::vector<float>> buffers;
      std::vector<Request> requests;
      if (rank == 0) {
        for (int64_t i = 0; i < messages; ++i) {
          buffers.push_back(values_of(0, static_cast<uint64_t>(i), elements));
          requests.push_back(group.start_send(*member.stream, 1, buffers.back().data(),
                                              elements * 4, Traffic::activation));
        }
        all_sent = true;
      } else {
        const auto deadline = std::chrono::steady_clock::now() + testing::kLong;
        for (int quiet = 0; quiet < 200 && std::chrono::steady_clock::now() < deadline;) {
          end.enter();
          end.leave();
          quiet = all_sent ? quiet + 1 : 0;
          std::this_thread::sleep_for(std::chrono::microseconds(100));
        }
        look(world, wire);
        for (int64_t i = 0; i < messages; ++i) {
          buffers.emplace_back(static_cast<size_t>(elements));
          requests.push_back(group.start_receive(*member.stream, 0, buffers.back().data(),
                                                 elements * 4, Traffic::activation));
        }
      }
      for (const Request request : requests) member.wait(group, request);
      for (int64_t i = 0; i < messages; ++i) {
        EXPECT_EQ(first_difference(buffers[static_cast<size_t>(i)],
                                   values_of(0, static_cast<uint64_t>(i), elements)),
                  -1);
      }
      port.finish(*member.stream);
      while (!wire.all_sent()) wire.poll();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(MpiTransport, HasBoundedMemoryHoweverManyMessagesComeUnasked) {
  const MpiLimits limits = {.pushed = 1 << 20, .room = 2 << 20};
  int64_t first = 0;
  for (const int64_t messages : {200, 800}) {
    flood(messages, 10'000, {}, limits, [&](const FakeMpiWorld& world, Wire& receiver) {
      const int64_t used = receiver.buffers().in_use();
      // Blocks are powers of two.
      EXPECT_GT(used, limits.pushed);
      EXPECT_LE(used, 2 * (limits.pushed + limits.room));
      if (first == 0) first = used;
      EXPECT_EQ(used, first) << "no more with more messages";
      EXPECT_LT(world.most_unexpected(), messages * int64_t{2 * sizeof(Frame)})
          << "MPI holds frames and no more";
    });
  }
}

TEST(MpiTransport, ReceivesALongMessageWhereItBelongs) {
  int64_t before = -1;
  flood(3, 1'000'000, {}, {.pushed = 1 << 20},
        [&](const FakeMpiWorld&, Wire& receiver) { before = receiver.buffers().total(); });
  EXPECT_EQ(before, 0) << "nothing of it came before it was asked for";
}

TEST(MpiTransport, TellsWhichCallOfMpiFailed) {
  // Each call of a rank in turn, up to the end of a small program. Of one that fails while MPI is
  // begun the other rank cannot hear.
  constexpr int64_t kInOpening = 17;
  int failures = 0;
  for (int64_t call = 0;; ++call) {
    const FakeMpi behaviour = {.eager = int64_t{1} << 40, .failing_rank = 1, .failing_call = call};
    std::string failure;
    try {
      run_ranks_over_mpi(
          {.ranks = 2,
           .patience = {.limit = std::chrono::milliseconds(call < kInOpening ? 50 : 20'000)}},
          [&](Port& port) {
            Member member(port);
            std::vector<float> buffer = values_of(port.rank(), 1, 5'000);
            Communicator& world = port.world();
            const Request request = world.start_all_reduce(*member.stream, buffer.data(), 5'000,
                                                           program::Reduction::sum);
            try {
              member.wait(world, request);
            } catch (...) {
              world.withdraw();
              throw;
            }
            EXPECT_EQ(
                first_difference(buffer, expected_of(Verb::all_reduce, program::Reduction::sum,
                                                     {0, 1}, port.rank(), 1, 5'000)),
                -1);
            port.finish(*member.stream);
          },
          behaviour);
    } catch (const Error& error) {
      failure = error.what();
    }
    if (failure.empty()) break;
    EXPECT_NE(failure.find("planted"), std::string::npos) << "call " << call << ": " << failure;
    ++failures;
    ASSERT_LT(call, 100'000);
    if (call > 40) call += call / 4;
  }
  EXPECT_GT(failures, 30);
}

TEST(MpiTransport, NumbersGroupsAlikeAtTheirMembersAndApartOtherwise) {
  std::set<int> numbers;
  int groups = 0;
  for (int stride = 1; stride <= 64; stride *= 2) {
    for (int first = 0; first < 512; ++first) {
      for (int times = 0; times < 3; ++times, ++groups) {
        std::vector<int> ranks;
        for (int i = 0; i < 8; ++i) ranks.push_back(first + i * stride);
        const int number = number_of_group(ranks, times);
        EXPECT_GE(number, 0);
        EXPECT_EQ(number, number_of_group(ranks, times));
        numbers.insert(number);
      }
    }
  }
  EXPECT_EQ(static_cast<int>(numbers.size()), groups);
}

TEST(MpiLibrary, IsRefusedWhereItIsOfAnotherBuildAndToldWhatToDoWhereItIsNotThere) {
  FakeMpiWorld world(1, {});
  Table table = world.table(0);
  EXPECT_NE(refusal(table, "x.so")->what.find("it is of build fake"), std::string::npos);
  table.build_id = build_id();
  EXPECT_EQ(refusal(table, "x.so"), std::nullopt);
  table.bytes -= 8;
  EXPECT_NE(refusal(table, "x.so")->what.find("its table has"), std::string::npos);
  table.version = 7;
  EXPECT_NE(refusal(table, "x.so")->what.find("it has version 7"), std::string::npos);
  try {
    static_cast<void>(open_library("/nowhere/trireme_mpi.so"));
    FAIL();
  } catch (const Error& error) {
    for (const char* part : {"/nowhere/trireme_mpi.so", "cannot be loaded", "./dev packages mpi"})
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(Buffers, KeepMemoryForTheNextMessagesButNotMuch) {
  Buffers buffers;
  const Buffers::Block first = buffers.take(1000);
  EXPECT_EQ(first.bytes, 1024);
  buffers.give(first);
  EXPECT_EQ(buffers.in_use(), 0);
  const Buffers::Block again = buffers.take(700);
  EXPECT_EQ(again.data, first.data);
  buffers.give(again);
  for (int round = 0; round < 20; ++round) {
    std::vector<Buffers::Block> blocks;
    for (int i = 0; i < 10; ++i) blocks.push_back(buffers.take(int64_t{1} << round));
    for (const Buffers::Block& block : blocks) buffers.give(block);
  }
  EXPECT_LE(buffers.total(), 2 * 10 * (int64_t{1} << 19));
}

}  // namespace
}  // namespace trireme::comm::mpi
