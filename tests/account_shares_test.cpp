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

// Of a step. Shares are of a time in which whoever is not slow does nothing but wait.
std::vector<train::RankAccount> account(const Cut& cut, const Disturbed& by) {
  Model model;
  model.shape.layers = 2;
  model.global_batch = 4;
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

// The other rank's time goes into waiting for the slow one; the slow one's into its kernels.
void expect_waits(const Cut& cut, TimeShare share) {
  for (const int slow : {0, 1}) {
    const std::vector<train::RankAccount> ranks = account(cut, {.slow_rank = slow});
    const auto of = [&](int rank, TimeShare what) {
      return ranks[static_cast<size_t>(rank)].fraction(what);
    };
    EXPECT_GT(of(1 - slow, share), 0.5) << cut.text() << ", slow " << slow;
    EXPECT_LT(of(1 - slow, TimeShare::compute), 0.4) << cut.text() << ", slow " << slow;
    EXPECT_GT(of(slow, TimeShare::compute), 0.5) << cut.text() << ", slow " << slow;
    EXPECT_LT(of(slow, share), 0.4) << cut.text() << ", slow " << slow;
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
  // Nothing else takes time here. Between stages much of it is waiting for one that waits itself;
  // but two messages, of the first microbatch and of the last, nothing hides.
  const double two = 2 * std::chrono::duration<double>(comm::FaultyTransport::kDelay).count();
  for (const train::RankAccount& rank : account({.p = 2}, {.delayed = true}))
    EXPECT_GE(rank[TimeShare::pipeline], two);
  for (const train::RankAccount& rank : account({.t = 2}, {.delayed = true}))
    EXPECT_GT(rank.fraction(TimeShare::tensor), 0.6);
  for (const train::RankAccount& rank : account({.d = 2}, {.delayed = true}))
    EXPECT_GT(rank.fraction(TimeShare::data), 0.6);
}

}  // namespace
}  // namespace trireme
