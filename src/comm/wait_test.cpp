#include "comm/wait.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "core/error.h"

namespace trireme::comm {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

const auto kNothing = [] { return std::string("nothing"); };

TEST(WaitLoop, TestsBeforeItRests) {
  const WaitLoop loop({.limit = milliseconds(1'000)});
  int rests = 0;
  loop.until([] { return true; }, [&](nanoseconds) { ++rests; }, kNothing);
  EXPECT_EQ(rests, 0);
}

TEST(WaitLoop, RestsLongerAndLongerButNotPastItsLimit) {
  const milliseconds limit(200);
  const WaitLoop loop({.limit = limit});
  std::vector<nanoseconds> rests;
  EXPECT_THROW(loop.until([] { return false; },
                          [&](nanoseconds most) {
                            rests.push_back(most);
                            std::this_thread::sleep_for(most);
                          },
                          kNothing),
               Error);
  ASSERT_GT(rests.size(), 5u);
  EXPECT_LT(rests.size(), 100u) << "it sleeps rather than asks";
  for (size_t i = 1; i + 1 < rests.size(); ++i) EXPECT_LE(rests[i - 1], rests[i]);
  for (const nanoseconds rest : rests) EXPECT_LE(rest, limit);
}

TEST(WaitLoop, SaysWhatItWaitedForInWhichActionAndHowLong) {
  WaitLoop loop({.limit = milliseconds(20)});
  loop.set_action("1F3");
  try {
    loop.until([] { return false; }, [](nanoseconds most) { std::this_thread::sleep_for(most); },
               [] { return std::string("a token from rank 3"); });
    FAIL() << "it gives up";
  } catch (const Error& error) {
    const std::string text = error.what();
    for (const char* part : {"waiting in 1F3", "a token from rank 3", "after 2",
                             "at most 0.02 s (--distributed-timeout-seconds or -minutes)"})
      EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  }
}

TEST(WaitLoop, CutsALongAction) {
  WaitLoop loop({});
  loop.set_action(std::string(100, 'x'));
  EXPECT_EQ(loop.action(), std::string(31, 'x'));
  loop.set_action("");
  EXPECT_EQ(loop.action(), "");
}

}  // namespace
}  // namespace trireme::comm
