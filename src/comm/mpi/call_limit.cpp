#include "comm/mpi/call_limit.h"

#include <cstdlib>
#include <exception>

#include "core/failure.h"

namespace trireme::comm::mpi {

CallLimit::CallLimit(const Trouble& silence, std::chrono::nanoseconds limit)
    : watch_([this, error = Error(Error::Kind::run, silence), limit] {
        std::unique_lock lock(mutex_);
        if (returned_.wait_for(lock, limit, [this] { return has_returned_; })) return;
        // MPI cannot be asked to end what is inside of it; the launcher sees how this one ends.
        std::_Exit(tell_failure(std::make_exception_ptr(error)));
      }) {}

CallLimit::~CallLimit() {
  {
    const std::lock_guard lock(mutex_);
    has_returned_ = true;
  }
  returned_.notify_one();
  watch_.join();
}

}  // namespace trireme::comm::mpi
