// The shares of a run's time say who was waited for, and for what.

#include <gtest/gtest.h>

#include "comm/record/faulty_transport.h"
#include "parallel_run.h"
#include "train/account.h"

namespace trireme {
namespace {

using train::TimeShare;

// Long beside what else a machine may do between two messages.
constexpr std::chrono::milliseconds kSleep{40};

constexpr int kLayers = 2;
constexpr int kBatch = 4;  // sequences, one to a microbatch

thread_local bool is_slow = false;

// Attention's forward takes its time on the slow rank; all else does nothing.
const ops::KernelTable& slow_on_one_rank() {
  static const ops::KernelTable table = [] {
    ops::KernelTable kernels;
    kernels.kernels.fill([](device::Stream&, const program::OpSpec&, const ops::Arguments&) {});
    kernels.kernels[program::OpSpec(program::Attention{}).index()] =
        [](device::Stream&, const program::OpSpec&, const ops::Arguments&) {
          if (is_slow) std::this_thread::sleep_for(kSleep);
        };
    return kernels;
  }();
  return table;
}

struct Disturbed {
  int slow_rank = -1;
  bool delayed = false;  ///< all messages
};

// Of a step in which whoever is not slow does nothing but wait.
std::vector<train::RankAccount> account(const Cut& cut, const Disturbed& by) {
  Model model;
  model.shape.layers = kLayers;
  model.global_batch = kBatch;
  const auto ranks = static_cast<size_t>(cut.ranks());
  std::vector<comm::SentMessages> sent(ranks);
  comm::LocalRun local = {.ranks = cut.ranks()};
  local.between = [&](std::unique_ptr<comm::Transport> inner) -> std::unique_ptr<comm::Transport> {
    if (!by.delayed) return inner;
    comm::SentMessages& noted = sent[static_cast<size_t>(inner->rank())];
    return std::make_unique<comm::FaultyTransport>(
        std::move(inner), comm::Plant{.fault = comm::Fault::delay, .all = true}, noted);
  };
  train::RunAccount account;
  comm::run_ranks(local, [&](comm::Port& port) {
    is_slow = port.rank() == by.slow_rank;
    RankRun rank(port, model, cut, slow_on_one_rank());
    rank.trainer.step();
    const auto stream = rank.device.make_stream();
    const train::RunAccount gathered =
        train::gather_account({port.world(), *stream}, rank.session, rank.trainer);
    if (port.rank() == 0) account = gathered;
    port.finish(*stream);
  });
  for (const train::RankAccount& rank : account.ranks) {
    for (const double seconds : rank.seconds) EXPECT_GE(seconds, 0) << cut.text();
  }
  return account.ranks;
}

// The other rank's time goes into waiting for the slow one; the slow one's into its kernels. A
// machine that is busy with other things makes everything longer, so that what is sure is how long
// at least.
void expect_waits(const Cut& cut, TimeShare share) {
  const int sleeps = kLayers / cut.p * kBatch / cut.d;
  const double slept = sleeps * std::chrono::duration<double>(kSleep).count();
  for (const int slow : {0, 1}) {
    SCOPED_TRACE(format("{}, slow {}", cut.text(), slow));
    const std::vector<train::RankAccount> ranks = account(cut, {.slow_rank = slow});
    const train::RankAccount& late = ranks[static_cast<size_t>(slow)];
    const train::RankAccount& waiting = ranks[static_cast<size_t>(1 - slow)];
    EXPECT_GE(late[TimeShare::compute], slept);
    EXPECT_GE(waiting[share], 0.5 * slept);
    EXPECT_GT(waiting[share], late[share]);
    EXPECT_LT(waiting[TimeShare::compute], late[TimeShare::compute]);
  }
}

TEST(TimeShares, SayThatATensorRankIsWaitedFor) {
  expect_waits({.t = 2}, TimeShare::tensor);
}

TEST(TimeShares, SayThatADataRankIsWaitedFor) {
  expect_waits({.d = 2}, TimeShare::data);
}

TEST(TimeShares, SayThatAStageIsWaitedFor) {
  expect_waits({.p = 2}, TimeShare::bubble);
}

TEST(TimeShares, SayThatMessagesAreSlow) {
  // Nothing else takes time here. Between stages much of it is waiting for one that waits itself,
  // but some messages nothing hides. Each all-reduce of a layer waits for two messages of each
  // rank.
  const double delay = std::chrono::duration<double>(comm::FaultyTransport::kDelay).count();
  for (const train::RankAccount& rank : account({.p = 2}, {.delayed = true}))
    EXPECT_GE(rank[TimeShare::pipeline], delay);
  for (const train::RankAccount& rank : account({.t = 2}, {.delayed = true}))
    EXPECT_GE(rank[TimeShare::tensor], kLayers * kBatch * delay);
}

}  // namespace
}  // namespace trireme
