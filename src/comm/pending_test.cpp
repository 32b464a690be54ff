#include "comm/pending.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "comm/wait.h"

namespace trireme::comm {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

// What a signal's handler writes now.
std::string written() {
  int ends[2] = {};
  EXPECT_EQ(::pipe(ends), 0);
  pending::write(ends[1], "SIGTERM");
  ::close(ends[1]);
  std::string text(4096, '\0');
  const ssize_t length = ::read(ends[0], text.data(), text.size());
  ::close(ends[0]);
  text.resize(length > 0 ? static_cast<size_t>(length) : 0);
  return text;
}

// What is written when a wait has lasted so long.
std::string written_after(milliseconds time) {
  WaitLoop loop({});
  loop.set_action("1F3");
  std::string text;
  const auto start = std::chrono::steady_clock::now();
  loop.until(
      [&] {
        if (std::chrono::steady_clock::now() - start < time) return false;
        text = written();
        return true;
      },
      [](nanoseconds most) { std::this_thread::sleep_for(most); },
      [] { return std::string("a token from rank 2 (p0 t0 d1)"); });
  return text;
}

class Pending : public ::testing::Test {
 protected:
  Pending() { pending::enable("rank 5 = p1 t0 d1"); }
  ~Pending() override { pending::disable(); }
};

TEST_F(Pending, SaysWhoWaitsInWhichActionHowLongForWhat) {
  const std::string text = written_after(milliseconds(350));
  EXPECT_EQ(text.find("trireme: [rank 5 = p1 t0 d1] SIGTERM: waiting for 0."), 0u) << text;
  EXPECT_NE(text.find(" s in 1F3: a token from rank 2 (p0 t0 d1)\n"), std::string::npos) << text;
}

TEST_F(Pending, SaysItAsSoonAsTheRankRests) {
  WaitLoop loop({});
  loop.set_action("0B2");
  std::string text;
  loop.until([&] { return !text.empty(); }, [&](nanoseconds) { text = written(); },
             [] { return std::string("a token from rank 2"); });
  EXPECT_NE(text.find("waiting for 0.0 s in 0B2: a token from rank 2\n"), std::string::npos)
      << text;
}

TEST_F(Pending, SaysWhatItWaitsForNowWhereAWaitMovesOn) {
  WaitLoop loop({});
  std::string text;
  std::string awaited = "a token from rank 2";
  const auto start = std::chrono::steady_clock::now();
  loop.until(
      [&] {
        const auto passed = std::chrono::steady_clock::now() - start;
        if (passed > milliseconds(100)) awaited = "a token from rank 3";
        if (passed < milliseconds(350)) return false;
        text = written();
        return true;
      },
      [](nanoseconds most) { std::this_thread::sleep_for(most); }, [&] { return awaited; });
  EXPECT_NE(text.find(": a token from rank 3\n"), std::string::npos) << text;
}

TEST_F(Pending, OfAWaitThatHasHardlyBegunSaysTheAction) {
  pending::set_action("0B0");
  const pending::Wait wait(std::chrono::steady_clock::now());
  EXPECT_EQ(written(), "trireme: [rank 5 = p1 t0 d1] SIGTERM: busy in 0B0\n");
}

TEST_F(Pending, OfNoWaitSaysTheAction) {
  WaitLoop loop({});
  loop.set_action("0F1");
  loop.until([] { return true; }, [](nanoseconds) {}, [] { return std::string(); });
  EXPECT_EQ(written(), "trireme: [rank 5 = p1 t0 d1] SIGTERM: busy in 0F1\n");
}

TEST(PendingOff, WritesNothing) {
  EXPECT_EQ(written(), "");
}

}  // namespace
}  // namespace trireme::comm
