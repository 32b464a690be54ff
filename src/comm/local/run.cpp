#include "comm/local/run.h"

#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

#include "comm/local/world.h"
#include "core/error.h"
#include "core/format.h"

namespace trireme::comm {

namespace {

// The ranks that have ended, for the thread that started them.
class Ends {
 public:
  void note(bool failed) {
    const std::lock_guard lock(mutex_);
    ++count_;
    failed_ = failed_ || failed;
    changed_.notify_one();
  }
  // Not all were started.
  void fail() {
    const std::lock_guard lock(mutex_);
    failed_ = true;
    changed_.notify_one();
  }
  // Returns when so many have ended, or when some failed and the others had so long to follow:
  // whether all have ended.
  bool wait_for(size_t count, std::chrono::nanoseconds most) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return failed_ || count_ == count; });
    return changed_.wait_for(lock, most, [&] { return count_ == count; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t count_ = 0;
  bool failed_ = false;
};

std::exception_ptr cause_of(const LocalWorld& world) {
  try {
    world.rethrow_cause();
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

}  // namespace

void run_ranks(const LocalRun& run, const std::function<void(Port& port)>& body) {
  LocalWorld world(run.ranks, run.places);
  Ends ends;
  const auto rank = [&](int number) {
    set_place(world.place_of(number));
    try {
      std::unique_ptr<Transport> transport = world.transport(number);
      if (run.between) transport = run.between(std::move(transport));
      Port port(std::move(transport), run.patience);
      body(port);
    } catch (...) {
      world.fail(number, std::current_exception());
      ends.note(true);
      return;
    }
    ends.note(false);
  };
  std::vector<std::thread> threads;
  try {
    for (int number = 0; number < run.ranks; ++number) threads.emplace_back(rank, number);
  } catch (const std::system_error& error) {
    const auto started = static_cast<int>(threads.size());
    world.fail(started,
               std::make_exception_ptr(Error(
                   Error::Kind::run, {.where = "ranks",
                                      .what = format("only {} of {} threads could be started: {}",
                                                     started, run.ranks, error.what()),
                                      .remedy = "run fewer ranks in this process"})));
    ends.fail();
  }
  if (run.stuck && !ends.wait_for(threads.size(), run.stuck_after)) run.stuck(cause_of(world));
  for (std::thread& thread : threads) thread.join();
  world.rethrow_cause();
}

}  // namespace trireme::comm
