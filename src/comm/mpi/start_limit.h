#pragma once
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "comm/mpi/launch.h"

namespace trireme::comm::mpi {

/// As long as it lives, MPI may begin. MPI does so once all processes of the job have come, and has
/// no limit of its own: one that ended early, or never started, would be waited for for good.
/// Behind the limit this process ends, with a message and exit status 1.
class StartLimit {
 public:
  StartLimit(const Launch& launch, std::chrono::nanoseconds limit);
  ~StartLimit();
  StartLimit(const StartLimit&) = delete;
  StartLimit& operator=(const StartLimit&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable begun_;
  bool is_begun_ = false;
  std::thread watch_;
};

}  // namespace trireme::comm::mpi
