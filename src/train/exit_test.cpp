#include "train/exit.h"

#include <gtest/gtest.h>

#include <csignal>
#include <memory>

namespace trireme::train {
namespace {

// Of a rank alone: its own vote counts.
std::optional<std::string> reason_of(const config::BatchOptions& options, int64_t iteration) {
  const ExitRule rule(options, std::chrono::steady_clock::now());
  return rule.reason(iteration, rule.vote());
}

TEST(StopSignals, AreCaughtAndNamedWhileWatchedForAndLeaveNothingBehind) {
  {
    const StopSignals watch;
    EXPECT_EQ(StopSignals::caught(), std::nullopt);
    std::raise(SIGUSR1);
    EXPECT_EQ(StopSignals::caught(), "SIGUSR1");
    EXPECT_EQ(reason_of({}, 1), "SIGUSR1");
  }
  {
    const StopSignals watch;
    EXPECT_EQ(StopSignals::caught(), std::nullopt);
    std::raise(SIGTERM);
    EXPECT_EQ(StopSignals::caught(), "SIGTERM");
  }
  struct sigaction now = {};
  ASSERT_EQ(::sigaction(SIGTERM, nullptr, &now), 0);
  EXPECT_EQ(now.sa_handler, SIG_DFL);
}

TEST(StopSignals, OfSeveralRanksStayUntilTheLastHasGone) {
  auto first = std::make_unique<StopSignals>();
  {
    const StopSignals second;
    std::raise(SIGTERM);
  }
  EXPECT_EQ(StopSignals::caught(), "SIGTERM") << "and the process lives";
  struct sigaction now = {};
  ASSERT_EQ(::sigaction(SIGTERM, nullptr, &now), 0);
  EXPECT_NE(now.sa_handler, SIG_DFL);
  first.reset();
  ASSERT_EQ(::sigaction(SIGTERM, nullptr, &now), 0);
  EXPECT_EQ(now.sa_handler, SIG_DFL);
}

TEST(ExitRule, EndsAllRanksByTheLargestVote) {
  config::BatchOptions options;
  options.exit_duration_in_mins = 30;
  const ExitRule rule(options, std::chrono::steady_clock::now());
  EXPECT_EQ(rule.reason(1, 0), std::nullopt);
  EXPECT_EQ(rule.reason(1, 0.5), "--exit-duration-in-mins 30");
  EXPECT_EQ(rule.reason(1, SIGHUP), "SIGHUP");
}

TEST(StopSignalsDeathTest, EndTheProcessAtTheSecondSigterm) {
  EXPECT_EXIT(
      {
        const StopSignals watch;
        std::raise(SIGTERM);
        std::raise(SIGUSR1);
        std::raise(SIGTERM);
        std::_Exit(0);
      },
      testing::KilledBySignal(SIGTERM), "");
}

TEST(ExitRule, EndsAtMultiplesOfTheIntervalAndWhenTheTimeIsUp) {
  const StopSignals watch;  // clears what an earlier test raised
  config::BatchOptions options;
  EXPECT_EQ(reason_of(options, 10), std::nullopt);
  options.exit_interval = 5;
  EXPECT_EQ(reason_of(options, 9), std::nullopt);
  EXPECT_EQ(reason_of(options, 10), "--exit-interval 5");
  options.exit_interval.reset();
  options.exit_duration_in_mins = 1000;
  EXPECT_EQ(reason_of(options, 10), std::nullopt);
  options.exit_duration_in_mins = 1e-12;
  EXPECT_EQ(reason_of(options, 10), "--exit-duration-in-mins 1e-12");
}

}  // namespace
}  // namespace trireme::train
