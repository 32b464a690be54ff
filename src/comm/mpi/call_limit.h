#pragma once
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "core/error.h"

namespace trireme::comm::mpi {

/// As long as it lives, a call of MPI that waits for other processes and has no limit of its own
/// may take: MPI begins once all processes of the job have come, and ends once all want it to; one
/// that ended early, or whose host is lost, would be waited for for good. Behind the limit this
/// process ends, with this message and exit status 1.
class CallLimit {
 public:
  CallLimit(const Trouble& silence, std::chrono::nanoseconds limit);
  ~CallLimit();
  CallLimit(const CallLimit&) = delete;
  CallLimit& operator=(const CallLimit&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable returned_;
  bool has_returned_ = false;
  std::thread watch_;
};

}  // namespace trireme::comm::mpi
