#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>

namespace trireme {

/// A function passed down the stack, not kept: two pointers, no allocation.
template <class Signature>
class FunctionRef;
template <class R, class... Args>
class FunctionRef<R(Args...)> {
 public:
  /// Implicit, so that a lambda can be an argument.
  template <class F>
  // NOLINTNEXTLINE(google-explicit-constructor,bugprone-forwarding-reference-overload): see above
  requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef>) FunctionRef(F&& f)
      : object_(const_cast<void*>(static_cast<const void*>(&f))),
        call_([](void* object, Args... args) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(object))(args...);
        }) {}
  R operator()(Args... args) const { return call_(object_, args...); }

 private:
  void* object_;
  R (*call_)(void*, Args...);
};

/// The threads of one rank. The caller takes part, so a pool of one starts no thread.
///
/// Tasks are handed out in ascending order as threads become free, so results must not depend on
/// which thread runs which task: cut work by shape alone (the arithmetic contract). Allocates
/// nothing after construction. Not reentrant: no parallel_for inside a task.
class ThreadPool {
 public:
  /// threads >= 1.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  [[nodiscard]] int threads() const;

  /// Runs task(index, thread) for every index in [0, count), thread in [0, threads()), and returns
  /// when all are done. The first exception of a task is thrown again here, after the others have
  /// ended.
  void parallel_for(int64_t count, FunctionRef<void(int64_t index, int thread)> task);

  /// Done by the caller of a parallel_for behind each of its own tasks, so that what must not stand
  /// still while a rank computes (what it exchanges with others) moves on. Short where there is
  /// nothing to do. What it throws counts as a task's.
  void between_tasks(std::function<void()> what);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Cores that a process may use (0: this one): its affinity mask and the cgroup's quota, at
/// least 1.
[[nodiscard]] int usable_cores(int process = 0);

}  // namespace trireme
