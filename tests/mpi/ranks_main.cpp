// The exchanges of ranks that are processes: started by mpirun, all ranks run the same tests.
#include <gtest/gtest.h>

#include <numeric>

#include "comm/mpi/run.h"
#include "comm/testing/random_program.h"

namespace trireme::comm {
namespace {

using testing::expected_of;
using testing::first_difference;
using testing::Member;
using testing::values_of;

Member* member = nullptr;

std::vector<int> up_to(int ranks) {
  std::vector<int> all(static_cast<size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

int64_t sum_over_ranks(int64_t own) {
  Communicator& world = member->port.world();
  std::vector<int64_t> all(static_cast<size_t>(world.size()));
  all[static_cast<size_t>(world.rank())] = own;
  std::vector<int64_t> cuts;
  for (int64_t r = 0; r <= world.size(); ++r) cuts.push_back(8 * r);
  member->wait(world, world.start_all_gather(*member->stream, all.data(), cuts.back(),
                                             Traffic::agreement, cuts));
  return std::accumulate(all.begin(), all.end(), int64_t{0});
}

TEST(MpiRanks, GiveTheBitsOfOurOwnOrderAndTheVolumeOfARing) {
  const int ranks = member->port.size();
  const std::vector<int> all = up_to(ranks);
  const auto group = member->port.make_group("all", all);
  uint64_t number = 0;
  int64_t volume = 0;
  for (const int64_t elements : {0, 1, 3, 128, 129, 12'345, 300'001, 20 * 65'536 + 7, 9'000'001}) {
    for (const auto& [verb, reduction] : {std::pair(Verb::all_reduce, program::Reduction::sum),
                                          std::pair(Verb::all_reduce, program::Reduction::maximum),
                                          std::pair(Verb::reduce_scatter, program::Reduction::sum),
                                          std::pair(Verb::all_gather, program::Reduction::sum)}) {
      std::vector<float> buffer = values_of(group->rank(), ++number, elements);
      member->wait(*group, group->start(*member->stream,
                                        {.verb = verb,
                                         .traffic = Traffic::gradient,
                                         .reduction = reduction,
                                         .buffer = reinterpret_cast<std::byte*>(buffer.data()),
                                         .bytes = elements * 4}));
      EXPECT_EQ(first_difference(
                    buffer, expected_of(verb, reduction, all, group->rank(), number, elements)),
                -1)
          << name_of(verb) << " of " << elements << " elements";
      volume += (verb == Verb::all_reduce ? 2 : 1) * (ranks - 1) * elements * 4;
    }
  }
  EXPECT_EQ(sum_over_ranks(group->bytes_sent().total()), volume);
  member->port.finish(*member->stream);
}

TEST(MpiRanks, PassMessagesOfEverySizeAlongARing) {
  const int ranks = member->port.size();
  if (ranks == 1) return;  // a rank sends nothing to itself
  const auto group = member->port.make_group("ring", up_to(ranks));
  const int next = (group->rank() + 1) % ranks;
  const int previous = (group->rank() + ranks - 1) % ranks;
  // In their frames, behind them, held; several of each under way at once.
  const std::vector<int64_t> sizes = {0,       1,       128,       129,       2'000,
                                      100'000, 262'144, 262'145,   1'000'000, 5,
                                      70'000,  70'000,  3'000'000, 3'000'000, 64};
  std::vector<std::vector<float>> out;
  std::vector<std::vector<float>> in;
  std::vector<Request> requests;
  for (const int64_t elements : sizes) {
    out.push_back(values_of(group->rank(), out.size(), elements));
    requests.push_back(group->start_send(*member->stream, next, out.back().data(), elements * 4,
                                         Traffic::activation, "0F1"));
  }
  for (const int64_t elements : sizes) {
    in.emplace_back(static_cast<size_t>(elements));
    requests.push_back(group->start_receive(*member->stream, previous, in.back().data(),
                                            elements * 4, Traffic::activation, "0F1"));
  }
  for (const Request request : requests) member->wait(*group, request);
  for (size_t i = 0; i < sizes.size(); ++i)
    EXPECT_EQ(first_difference(in[i], values_of(previous, i, sizes[i])), -1) << sizes[i];
  member->port.finish(*member->stream);
}

TEST(MpiRanks, RunRandomProgramsWithTheBitsAndBytesOfThreads) {
  const int ranks = member->port.size();
  for (uint32_t seed = 1; seed <= 12; ++seed) {
    const std::vector<testing::Step> steps = testing::random_steps(seed, 150, ranks);
    const int64_t sent = testing::run_program(*member, seed, steps);
    EXPECT_EQ(sum_over_ranks(sent), testing::volume(steps, ranks)) << "seed " << seed;
  }
}

class Failures : public ::testing::EmptyTestEventListener {
  void OnTestPartResult(const ::testing::TestPartResult& result) override {
    if (result.failed())
      std::fprintf(stderr, "rank %d: %s:%d: %s\n", member->port.rank(), result.file_name(),
                   result.line_number(), result.message());
  }
};

}  // namespace
}  // namespace trireme::comm

int main(int argc, char** argv) {
  namespace comm = trireme::comm;
  ::testing::InitGoogleTest(&argc, argv);
  int result = 1;
  const comm::mpi::MpiRun run = {.launch = comm::mpi::launch_here(),
                                 .patience = {.limit = comm::testing::kLong}};
  comm::mpi::run_mpi(run, [&](comm::Port& port) {
    if (port.rank() != 0) {  // one rank says what passed, all say what failed
      auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
      delete listeners.Release(listeners.default_result_printer());
      listeners.Append(new comm::Failures);
    }
    comm::testing::Member own(port);
    comm::member = &own;
    result = RUN_ALL_TESTS();
  });
  return result;
}
