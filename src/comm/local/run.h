#pragma once
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/port.h"

namespace trireme::comm {

struct LocalRun {
  int ranks = 1;
  std::vector<std::string> places = {};  ///< LocalWorld
  Patience patience = {};
  /// Called, with what will be thrown, when some rank has failed and others have not ended for so
  /// long: they are stuck outside of their waits, and a thread cannot be ended. Nothing but the end
  /// of the process helps; where this returns, they are waited for.
  std::function<void(std::exception_ptr cause)> stuck = {};
  std::chrono::nanoseconds stuck_after = std::chrono::seconds(10);
  /// What stands between a rank and its end of the world; for tests.
  std::function<std::unique_ptr<Transport>(std::unique_ptr<Transport>)> between = {};
};

/// Runs body once per rank, each in a thread of its own, and returns when all have ended. A rank
/// that throws ends all; the first one's exception is thrown here, as an Error with the rank's
/// place.
void run_ranks(const LocalRun& run, const std::function<void(Port& port)>& body);

}  // namespace trireme::comm
