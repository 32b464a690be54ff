#include "core/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <fstream>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/format.h"

namespace trireme {
namespace {

// A parallel_for of a training step lasts some 100 microseconds; waking a sleeping thread costs 50.
// So threads spin this long before they sleep.
constexpr int kSpins = 2000;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

}  // namespace

struct ThreadPool::State {
  using Task = FunctionRef<void(int64_t, int)>;

  std::vector<std::thread> workers;
  std::mutex mutex;
  std::condition_variable wake;
  std::atomic<uint64_t> epoch = 0;  // raised for each parallel_for, and to stop
  std::atomic<bool> stop = false;
  const Task* task = nullptr;  // written before epoch is raised
  int64_t count = 0;
  std::atomic<int64_t> next = 0;
  std::atomic<int> busy = 0;  // workers that have not finished this epoch
  std::exception_ptr failure;
  std::function<void()> between;  // of the caller's tasks

  void drain(int thread) {
    for (;;) {
      const int64_t index = next.fetch_add(1, std::memory_order_relaxed);
      if (index >= count) return;
      try {
        (*task)(index, thread);
        if (thread == 0 && between) between();
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
        next.store(count, std::memory_order_relaxed);
      }
    }
  }

  void work(int thread, const std::string& rank_place) {
    set_place(rank_place);
    uint64_t seen = 0;
    for (;;) {
      for (int spin = 0; spin < kSpins && epoch.load(std::memory_order_acquire) == seen; ++spin)
        relax();
      if (epoch.load(std::memory_order_acquire) == seen) {
        std::unique_lock lock(mutex);
        wake.wait(lock, [&] { return epoch.load(std::memory_order_acquire) != seen; });
      }
      seen = epoch.load(std::memory_order_acquire);
      if (stop.load(std::memory_order_acquire)) return;
      drain(thread);
      busy.fetch_sub(1, std::memory_order_acq_rel);
    }
  }

  // Stops and joins the workers.
  void end() {
    stop.store(true, std::memory_order_release);
    raise_epoch();
    wake.notify_all();
    for (std::thread& worker : workers) worker.join();
    workers.clear();
  }

  void raise_epoch() {
    const std::lock_guard lock(mutex);
    epoch.fetch_add(1, std::memory_order_acq_rel);
  }
};

ThreadPool::ThreadPool(int threads) : state_(std::make_unique<State>()) {
  TRIREME_ASSERT(threads >= 1, "a thread pool has at least the calling thread");
  try {
    for (int thread = 1; thread < threads; ++thread) {
      state_->workers.emplace_back(
          [state = state_.get(), thread, rank = place()] { state->work(thread, rank); });
    }
  } catch (const std::system_error& error) {
    const size_t started = state_->workers.size() + 1;
    state_->end();
    fail({.where = "threads",
          .what = format("only {} of {} could be started: {}", started, threads, error.what()),
          .remedy = "use fewer --threads-per-rank"});
  }
}

ThreadPool::~ThreadPool() {
  state_->end();
}

int ThreadPool::threads() const {
  return static_cast<int>(state_->workers.size()) + 1;
}

void ThreadPool::parallel_for(int64_t count, FunctionRef<void(int64_t, int)> task) {
  State& state = *state_;
  if (state.workers.empty() || count <= 1) {
    for (int64_t index = 0; index < count; ++index) {
      task(index, 0);
      if (state.between) state.between();
    }
    return;
  }
  state.task = &task;
  state.count = count;
  state.next.store(0, std::memory_order_relaxed);
  state.busy.store(static_cast<int>(state.workers.size()), std::memory_order_relaxed);
  state.raise_epoch();
  state.wake.notify_all();
  state.drain(0);
  for (int spin = 0; state.busy.load(std::memory_order_acquire) != 0; ++spin) {
    if (spin < kSpins) {
      relax();
    } else {
      std::this_thread::yield();
    }
  }
  if (state.failure) std::rethrow_exception(std::exchange(state.failure, nullptr));
}

void ThreadPool::between_tasks(std::function<void()> what) {
  state_->between = std::move(what);
}

int usable_cores(int process) {
  int cores = 1;
  cpu_set_t mask;
  if (sched_getaffinity(process, sizeof(mask), &mask) == 0) cores = CPU_COUNT(&mask);
  // cgroup v2: "max 100000" or "150000 100000" (microseconds of quota per period)
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  if (file >> quota >> period && quota != "max" && period > 0) {
    cores = std::min(cores, std::max(1, static_cast<int>(std::stod(quota) / period)));
  }
  return std::max(cores, 1);
}

}  // namespace trireme
