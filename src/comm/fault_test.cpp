// What happens when something goes wrong: messages that come to grief, ranks that fail or do not
// come.
#include <gtest/gtest.h>

#include <array>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "comm/record/faulty_transport.h"
#include "comm/testing/fake_mpi.h"
#include "comm/testing/ranks.h"
#include "core/error.h"
#include "core/format.h"

namespace trireme::comm {
namespace {

using program::Reduction;
using testing::Member;
using testing::values_of;

constexpr int64_t kElements = 50;
constexpr const char* kPlaces[] = {"p0 t0 d0", "p0 t1 d0", "p1 t0 d0", "p1 t1 d0"};

std::vector<std::string> places(int ranks) {
  return {kPlaces, kPlaces + ranks};
}

// Stands behind a buffer that is lent: where something fails, no peer touches it when it goes.
class Withdraws {
 public:
  explicit Withdraws(Communicator& from) : from_(from) {}
  ~Withdraws() {
    if (std::uncaught_exceptions() > before_) from_.withdraw();
  }
  Withdraws(const Withdraws&) = delete;
  Withdraws& operator=(const Withdraws&) = delete;

 private:
  Communicator& from_;
  int before_ = std::uncaught_exceptions();
};

// Every verb once; what a rank has then.
std::vector<float> step(Member& member) {
  Communicator& world = member.port.world();
  std::vector<float> all;
  uint64_t number = 0;
  const auto keep = [&](const std::vector<float>& values) {
    all.insert(all.end(), values.begin(), values.end());
  };
  const auto collective = [&](Verb verb, Reduction reduction) {
    std::vector<float> buffer = values_of(world.rank(), ++number, kElements);
    const Withdraws lent(world);
    member.wait(world,
                world.start(*member.stream, {.verb = verb,
                                             .traffic = Traffic::gradient,
                                             .reduction = reduction,
                                             .buffer = reinterpret_cast<std::byte*>(buffer.data()),
                                             .bytes = kElements * 4}));
    keep(buffer);
  };
  collective(Verb::all_reduce, Reduction::sum);
  collective(Verb::all_reduce, Reduction::maximum);
  collective(Verb::reduce_scatter, Reduction::sum);
  collective(Verb::all_gather, Reduction::sum);
  const std::vector<float> out = values_of(world.rank(), ++number, kElements);
  std::vector<float> in(kElements);
  const Withdraws lent(world);
  const int next = (world.rank() + 1) % world.size();
  const int previous = (world.rank() + world.size() - 1) % world.size();
  const Request sent =
      world.start_send(*member.stream, next, out.data(), kElements * 4, Traffic::activation, "0F1");
  member.wait(world, world.start_receive(*member.stream, previous, in.data(), kElements * 4,
                                         Traffic::activation, "0F1"));
  member.wait(world, sent);
  keep(in);
  return all;
}

struct Outcome {
  std::vector<std::vector<float>> values;  // by rank
  std::vector<SentMessages> sent;          // by rank
  std::string failure;                     // the first cause; empty: none
};

// Ranks that are threads, or processes of a made-up MPI.
enum class Engine { threads, mpi };

Outcome run_with(Engine engine, int ranks, int faulty, Plant plant,
                 std::chrono::milliseconds limit) {
  Outcome outcome;
  outcome.values.resize(static_cast<size_t>(ranks));
  outcome.sent.resize(static_cast<size_t>(ranks));
  LocalRun run = {.ranks = ranks, .places = places(ranks), .patience = {.limit = limit}};
  run.between = [&](std::unique_ptr<Transport> inner) -> std::unique_ptr<Transport> {
    const int rank = inner->rank();
    return std::make_unique<FaultyTransport>(std::move(inner), rank == faulty ? plant : Plant{},
                                             outcome.sent[static_cast<size_t>(rank)]);
  };
  try {
    const auto body = [&](Port& port) {
      Member member(port);
      port.set_action("the step");
      outcome.values[static_cast<size_t>(port.rank())] = step(member);
      port.set_action("the end");
      port.finish(*member.stream);
    };
    if (engine == Engine::threads) {
      run_ranks(run, body);
    } else {
      // It copies what is sent: of a rank that fails nothing is read behind its end.
      testing::run_ranks_over_mpi(run, body, {.eager = int64_t{1} << 40});
    }
  } catch (const Error& error) {
    outcome.failure = error.what();
  }
  return outcome;
}

constexpr std::chrono::milliseconds kPlenty{20'000};

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// One fault in each message of each rank in turn, several worlds at once: most of them wait.
void with_each_message(Engine engine, int ranks, Fault fault, std::chrono::milliseconds limit,
                       const std::function<void(const Outcome& clean, const Outcome& outcome,
                                                const Header& planted)>& check) {
  const Outcome clean = run_with(engine, ranks, 0, {}, kPlenty);
  ASSERT_EQ(clean.failure, "");
  std::vector<std::pair<int, uint64_t>> plants;
  for (int rank = 0; rank < ranks; ++rank) {
    const std::vector<Header>& headers = clean.sent[static_cast<size_t>(rank)].headers;
    for (uint64_t message = 0; message < headers.size(); ++message) {
      // What comes twice after the last exchange comes to nobody.
      if (headers[message].traffic != Traffic::agreement) plants.emplace_back(rank, message);
    }
  }
  ASSERT_GE(plants.size(), static_cast<size_t>(ranks * (6 * (ranks - 1) + 1)));
  std::mutex mutex;
  size_t next = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&] {
      for (;;) {
        size_t own = 0;
        {
          const std::lock_guard lock(mutex);
          if (next == plants.size()) return;
          own = next++;
        }
        const auto [rank, message] = plants[own];
        const Outcome outcome = run_with(engine, ranks, rank, {fault, message}, limit);
        const std::lock_guard lock(mutex);
        const Header& planted = clean.sent[static_cast<size_t>(rank)].headers[message];
        SCOPED_TRACE(format("rank {}'s message {}, {} (lane {}) to rank {}\n{}", rank, message,
                            name_of(planted.verb), planted.lane, planted.to, outcome.failure));
        check(clean, outcome, planted);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

class EachMessage : public ::testing::TestWithParam<Engine> {};
INSTANTIATE_TEST_SUITE_P(Faults, EachMessage, ::testing::Values(Engine::threads, Engine::mpi),
                         [](const auto& engine) {
                           return engine.param == Engine::threads ? "Threads" : "Mpi";
                         });

TEST_P(EachMessage, ADelayedMessageChangesNoBit) {
  for (const int ranks : {2, 4}) {
    with_each_message(GetParam(), ranks, Fault::delay, kPlenty,
                      [](const Outcome& clean, const Outcome& outcome, const Header&) {
                        EXPECT_EQ(outcome.failure, "");
                        EXPECT_EQ(outcome.values, clean.values);
                      });
  }
}

TEST_P(EachMessage, OfADroppedMessageTheWaitNamesPeerPlaceExchangeAndAction) {
  with_each_message(
      GetParam(), 2, Fault::drop, std::chrono::milliseconds(500),
      [](const Outcome&, const Outcome& outcome, const Header& planted) {
        // Whoever gives up first names the other one.
        const bool by_receiver = has(outcome.failure, format("[rank {} = ", planted.to));
        const int other = by_receiver ? planted.from : planted.to;
        EXPECT_TRUE(has(outcome.failure, format("rank {} ({})", other, kPlaces[other])));
        EXPECT_TRUE(has(outcome.failure, "waiting in the step"));
        EXPECT_TRUE(has(outcome.failure, "still not here"));
        const std::string exchange =
            planted.verb == Verb::send
                ? format("message {} (activation, 0F1)", planted.sequence)
                : format("{} of {} B (gradient)", name_of(planted.verb), kElements * 4);
        EXPECT_TRUE(has(outcome.failure, exchange)) << exchange;
      });
}

TEST_P(EachMessage, AMessageThatComesTwiceIsRefusedByItsHeader) {
  for (const int ranks : {2, 3}) {
    with_each_message(
        GetParam(), ranks, Fault::twice, kPlenty,
        [](const Outcome&, const Outcome& outcome, const Header& planted) {
          EXPECT_TRUE(has(outcome.failure, "it came twice") ||
                      has(outcome.failure, "which nobody asked for"));
          for (const int end : {planted.from, planted.to})
            EXPECT_TRUE(has(outcome.failure, format("rank {} ({})", end, kPlaces[end])));
          EXPECT_TRUE(has(outcome.failure, format("message {}: ", planted.sequence)));
          EXPECT_TRUE(has(outcome.failure, name_of(planted.verb)));
        });
  }
}

TEST_P(EachMessage, AMessageThatStraysIsRefusedByItsHeader) {
  for (const Fault fault : {Fault::to_other_rank, Fault::to_other_lane}) {
    with_each_message(
        GetParam(), 3, fault, kPlenty,
        [](const Outcome&, const Outcome& outcome, const Header& planted) {
          EXPECT_TRUE(has(outcome.failure, "came here"));
          for (const int end : {planted.from, planted.to})
            EXPECT_TRUE(has(outcome.failure, format("rank {} ({})", end, kPlaces[end])));
        });
  }
}

std::string failure_of(int ranks, const std::function<void(Member& member)>& body,
                       std::chrono::milliseconds limit = kPlenty) {
  try {
    testing::run_members(
        LocalRun{.ranks = ranks, .places = places(ranks), .patience = {.limit = limit}}, body);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

TEST(Faults, MembersThatAskForDifferentCollectivesAreToldSo) {
  const std::string failure = failure_of(2, [](Member& member) {
    Communicator& world = member.port.world();
    std::vector<float> buffer(static_cast<size_t>(100 + world.rank()));
    member.wait(world, world.start_all_reduce(*member.stream, buffer.data(), 100 + world.rank(),
                                              Reduction::sum));
  });
  EXPECT_TRUE(has(failure, "all_reduce of 400 bytes")) << failure;
  EXPECT_TRUE(has(failure, "all_reduce of 404 bytes")) << failure;
  EXPECT_TRUE(has(failure, "same order")) << failure;
}

TEST(Faults, AReceiverThatExpectsAnotherMessageIsToldSo) {
  const std::string failure = failure_of(2, [](Member& member) {
    Communicator& world = member.port.world();
    std::vector<float> buffer(4);
    member.wait(world, world.rank() == 0 ? world.start_send(*member.stream, 1, buffer.data(), 16,
                                                            Traffic::activation, "0F3")
                                         : world.start_receive(*member.stream, 0, buffer.data(), 16,
                                                               Traffic::activation, "0F4"));
  });
  EXPECT_TRUE(has(failure, "activation, 0F3")) << failure;
  EXPECT_TRUE(has(failure, "activation, 0F4")) << failure;
}

TEST(Faults, ARankThatFailsEndsAllAndIsTheCause) {
  for (int repeat = 0; repeat < 20; ++repeat) {
    std::array<std::string, 4> followers;
    const auto start = std::chrono::steady_clock::now();
    const std::string failure = failure_of(4, [&](Member& member) {
      Communicator& world = member.port.world();
      std::vector<float> buffer(1'000'000);
      try {
        for (int i = 0;; ++i) {
          const Request request =
              world.start_all_reduce(*member.stream, buffer.data(), 1'000'000, Reduction::sum);
          // In the middle of it: the others read what is freed now.
          if (world.rank() == 2 && i == repeat % 3) {
            world.withdraw();
            buffer = {};
            throw std::runtime_error("the disk is full");
          }
          member.wait(world, request);
        }
      } catch (const Error& error) {
        followers[static_cast<size_t>(world.rank())] = error.what();
        world.withdraw();
        throw;
      }
    });
    EXPECT_EQ(failure, "[rank 2 = p1 t0 d0] the disk is full");
    for (const int rank : {0, 1, 3}) {
      EXPECT_TRUE(has(followers[static_cast<size_t>(rank)], "rank 2 (p1 t0 d0) has failed"))
          << followers[static_cast<size_t>(rank)];
    }
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
  }
}

TEST(Faults, ARankThatFailsEndsThoseThatSleepAtOnce) {
  const auto start = std::chrono::steady_clock::now();
  const std::string failure = failure_of(3, [](Member& member) {
    if (member.port.rank() == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      throw std::runtime_error("out of memory");
    }
    member.port.finish(*member.stream);
  });
  EXPECT_EQ(failure, "[rank 1 = p0 t1 d0] out of memory");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST(Faults, ARankThatEndsWithAnExchangeUnderWayIsNamed) {
  const std::string failure = failure_of(2, [](Member& member) {
    Communicator& world = member.port.world();
    float value = 1;
    if (world.rank() == 0)
      static_cast<void>(world.start_send(*member.stream, 1, &value, 4, Traffic::token));
  });
  EXPECT_TRUE(has(failure, "rank 0 (p0 t0 d0): it ended while others")) << failure;
}

TEST(Faults, ARankThatIsStuckIsToldWhileItIs) {
  std::mutex mutex;
  std::condition_variable goes_on;
  bool stuck = true;
  std::string told;
  LocalRun run = {.ranks = 3,
                  .places = places(3),
                  .patience = {.limit = std::chrono::milliseconds(200)},
                  .stuck =
                      [&](const std::exception_ptr& cause) {
                        try {
                          std::rethrow_exception(cause);
                        } catch (const Error& error) {
                          told = error.what();
                        }
                        const std::lock_guard lock(mutex);
                        stuck = false;
                        goes_on.notify_one();
                      },
                  .stuck_after = std::chrono::milliseconds(200)};
  std::string failure;
  try {
    testing::run_members(run, [&](Member& member) {
      if (member.port.rank() == 1) {
        std::unique_lock lock(mutex);
        goes_on.wait(lock, [&] { return !stuck; });
        return;
      }
      member.port.set_action("1F3");
      member.port.finish(*member.stream);
    });
  } catch (const Error& error) {
    failure = error.what();
  }
  EXPECT_TRUE(has(told, "waiting in 1F3: after ")) << told;
  EXPECT_TRUE(has(told, "rank 1 (p0 t1 d0) was not waiting")) << told;
  EXPECT_EQ(failure, told);
}

TEST(Faults, OnlyWaitingCounts) {
  const std::string failure = failure_of(
      2,
      [](Member& member) {
        Communicator& world = member.port.world();
        for (int i = 0; i < 4; ++i) {
          std::vector<float> buffer(10);
          const Request request =
              world.start_all_reduce(*member.stream, buffer.data(), 10, Reduction::sum);
          // Both compute, longer than the limit in all.
          std::this_thread::sleep_for(std::chrono::milliseconds(400));
          member.wait(world, request);
        }
      },
      std::chrono::milliseconds(1'200));
  EXPECT_EQ(failure, "");
}

}  // namespace
}  // namespace trireme::comm
