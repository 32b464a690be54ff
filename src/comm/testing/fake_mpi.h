#pragma once
#include <cstdint>
#include <functional>
#include <memory>

#include "comm/local/run.h"
#include "comm/mpi/mpi_transport.h"

namespace trireme::comm::testing {

/// How the processes of a made-up MPI behave.
struct FakeMpi {
  int64_t eager = 4096;  ///< messages up to this size are copied at once, larger ones when matched
  int most_polls = 3;    ///< that a message takes, at random, after those sent before it
  uint32_t seed = 1;
  int failing_rank = -1;     ///< one of its calls fails:
  int64_t failing_call = 0;  ///< the one with this number, from 0
};

/// A world of processes that are threads: the table of comm/mpi/abi.h over messages in memory, with
/// MPI's rules: messages between two ranks with one tag are matched in order, nothing moves but in
/// a poll.
class FakeMpiWorld {
 public:
  FakeMpiWorld(int ranks, const FakeMpi& behaviour);
  ~FakeMpiWorld();
  FakeMpiWorld(const FakeMpiWorld&) = delete;
  FakeMpiWorld& operator=(const FakeMpiWorld&) = delete;

  /// For this thread, which is that rank from here on.
  [[nodiscard]] const mpi::Table& table(int rank);
  /// Bytes of messages that came early and lie in memory of MPI's, at most so far.
  [[nodiscard]] int64_t most_unexpected() const;

  struct State;

 private:
  std::unique_ptr<State> state_;
};

/// run_ranks() over it.
void run_ranks_over_mpi(const LocalRun& run, const std::function<void(Port& port)>& body,
                        const FakeMpi& behaviour = {}, mpi::MpiLimits limits = {});

}  // namespace trireme::comm::testing
