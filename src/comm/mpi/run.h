#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/mpi/launch.h"
#include "comm/mpi/mpi_transport.h"
#include "comm/port.h"

namespace trireme::comm::mpi {

/// Ranks that are processes, started by a launcher: this one's part.
struct MpiRun {
  Launch launch = {};
  /// The ranks' places, as in "p1 t0 d1", for messages, of so many ranks; or none. May refuse the
  /// number: nothing was sent then.
  std::function<std::vector<std::string>(int ranks)> places = {};
  Patience patience = {};
  MpiLimits limits = {};
  /// The MPI to use; null: open_library().
  const Table* table = nullptr;
  /// What stands between a rank and its end of the world; for tests.
  std::function<std::unique_ptr<Transport>(std::unique_ptr<Transport>)> between = {};
};

/// Begins MPI, runs body on this rank's port, ends MPI. Once in a process, on its first thread.
///
/// Where something throws, it does not return: what was thrown is told on standard error, with the
/// rank's place, and all ranks end, with the exit status of an Error (2: usage) or 1. A rank that
/// only follows another's failure is silent; of ranks that fail alike the first one speaks.
void run_mpi(const MpiRun& run, const std::function<void(Port& port)>& body);

}  // namespace trireme::comm::mpi
