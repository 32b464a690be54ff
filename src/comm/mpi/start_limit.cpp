#include "comm/mpi/start_limit.h"

#include <cstdlib>
#include <exception>

#include "core/error.h"
#include "core/failure.h"
#include "core/format.h"

namespace trireme::comm::mpi {
namespace {

Error silence(const Launch& launch, std::chrono::nanoseconds limit) {
  return Error(
      Error::Kind::run,
      {.where = format("rank {}, waiting in the begin of MPI", launch.rank),
       .what = format("after {:.6g} s, not all of the {} processes of {} ({}) are here",
                      std::chrono::duration<double>(limit).count(), launch.size,
                      name_of(launch.launcher), launch.because),
       .rule = "a rank waits for another one at most that long (--distributed-timeout-seconds or "
               "-minutes)",
       .remedy = "look for processes that ended early or have other options, and whether their "
                 "hosts can be reached"});
}

}  // namespace

StartLimit::StartLimit(const Launch& launch, std::chrono::nanoseconds limit)
    : watch_([this, launch, limit] {
        std::unique_lock lock(mutex_);
        if (begun_.wait_for(lock, limit, [this] { return is_begun_; })) return;
        // MPI cannot be asked to end what it has not begun; the launcher sees how this one ends.
        std::_Exit(tell_failure(std::make_exception_ptr(silence(launch, limit))));
      }) {}

StartLimit::~StartLimit() {
  {
    const std::lock_guard lock(mutex_);
    is_begun_ = true;
  }
  begun_.notify_one();
  watch_.join();
}

}  // namespace trireme::comm::mpi
