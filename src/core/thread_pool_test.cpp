#include "core/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

namespace trireme {
namespace {

TEST(ThreadPool, RunsEveryTaskOnce) {
  for (int threads : {1, 2, 3, 5}) {
    ThreadPool pool(threads);
    for (int64_t count : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> runs(static_cast<size_t>(count));
      pool.parallel_for(count, [&](int64_t index, int thread) {
        EXPECT_GE(thread, 0);
        EXPECT_LT(thread, threads);
        runs[static_cast<size_t>(index)].fetch_add(1);
      });
      for (const auto& run : runs) EXPECT_EQ(run.load(), 1);
    }
  }
}

TEST(ThreadPool, SurvivesManyShortRounds) {
  ThreadPool pool(3);
  std::atomic<int64_t> sum = 0;
  for (int round = 0; round < 20000; ++round)
    pool.parallel_for(4, [&](int64_t index, int) { sum += index; });
  EXPECT_EQ(sum.load(), 20000 * 6);
}

TEST(ThreadPool, ThrowsTheFailureOfATaskAndStaysUsable) {
  ThreadPool pool(2);
  EXPECT_THROW(pool.parallel_for(100,
                                 [](int64_t index, int) {
                                   if (index == 50) throw std::runtime_error("task 50");
                                 }),
               std::runtime_error);
  std::atomic<int> runs = 0;
  pool.parallel_for(10, [&](int64_t, int) { ++runs; });
  EXPECT_EQ(runs.load(), 10);
}

TEST(ThreadPool, LetsTheCallerDoSomethingBetweenItsTasks) {
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    const std::thread::id caller = std::this_thread::get_id();
    std::atomic<int> by_caller = 0;
    int between = 0;
    pool.between_tasks([&] {
      EXPECT_EQ(std::this_thread::get_id(), caller);
      ++between;
    });
    pool.parallel_for(500, [&](int64_t, int) {
      if (std::this_thread::get_id() == caller) ++by_caller;
    });
    EXPECT_EQ(between, by_caller.load());
    if (threads == 1) {
      EXPECT_EQ(between, 500);
    }
    pool.between_tasks([] { throw std::runtime_error("a rank has failed"); });
    EXPECT_THROW(
        for (int round = 0; round < 100; ++round) pool.parallel_for(100, [](int64_t, int) {}),
        std::runtime_error);
  }
}

TEST(UsableCores, IsAtLeastOne) {
  EXPECT_GE(usable_cores(), 1);
}

}  // namespace
}  // namespace trireme
