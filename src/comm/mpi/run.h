#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/mpi/mpi_transport.h"
#include "comm/port.h"

namespace trireme::comm::mpi {

/// Ranks that are processes, started by a launcher: this one's part.
struct MpiRun {
  /// The ranks' places, as in "p1 t0 d1", for messages, of so many ranks; or none. May refuse the
  /// number: nothing was sent then.
  std::function<std::vector<std::string>(int ranks)> places = {};
  Patience patience = {};
  MpiLimits limits = {};
  /// What stands between a rank and its end of the world; for tests.
  std::function<std::unique_ptr<Transport>(std::unique_ptr<Transport>)> between = {};
};

/// Begins MPI, runs body on this rank's port, ends MPI. Once in a process, on its first thread.
///
/// Where body throws, does not return: what it threw is told on standard error, with the rank's
/// place, and MPI_Abort ends all ranks, with the exit status of an Error (2: usage) or 1. A rank
/// that only follows another's failure is silent; of ranks that fail alike the first one speaks.
/// Throws where MPI cannot be begun.
void run_mpi(const Table& table, const MpiRun& run, const std::function<void(Port& port)>& body);

}  // namespace trireme::comm::mpi
