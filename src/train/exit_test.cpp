#include "train/exit.h"

#include <gtest/gtest.h>

#include <csignal>

namespace trireme::train {
namespace {

TEST(StopSignals, AreCaughtAndNamedWhileWatchedForAndLeaveNothingBehind) {
  {
    const StopSignals watch;
    EXPECT_EQ(StopSignals::caught(), std::nullopt);
    std::raise(SIGUSR1);
    EXPECT_EQ(StopSignals::caught(), "SIGUSR1");
    EXPECT_EQ(ExitRule({}, std::chrono::steady_clock::now()).reason(1), "SIGUSR1");
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
  EXPECT_EQ(ExitRule(options, std::chrono::steady_clock::now()).reason(10), std::nullopt);
  options.exit_interval = 5;
  EXPECT_EQ(ExitRule(options, std::chrono::steady_clock::now()).reason(9), std::nullopt);
  EXPECT_EQ(ExitRule(options, std::chrono::steady_clock::now()).reason(10), "--exit-interval 5");
  options.exit_interval.reset();
  options.exit_duration_in_mins = 1000;
  EXPECT_EQ(ExitRule(options, std::chrono::steady_clock::now()).reason(10), std::nullopt);
  options.exit_duration_in_mins = 1e-12;
  EXPECT_EQ(ExitRule(options, std::chrono::steady_clock::now()).reason(10),
            "--exit-duration-in-mins 1e-12");
}

}  // namespace
}  // namespace trireme::train
