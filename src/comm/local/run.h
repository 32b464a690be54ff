#pragma once
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
  /// What stands between a rank and its end of the world; for tests.
  std::function<std::unique_ptr<Transport>(std::unique_ptr<Transport>)> between = {};
};

/// Runs body once per rank, each in a thread of its own, and returns when all have ended. A rank
/// that throws ends all; the first one's exception is thrown again here.
void run_ranks(const LocalRun& run, const std::function<void(Port& port)>& body);

}  // namespace trireme::comm
