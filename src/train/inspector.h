#pragma once
#include <optional>

#include "config/groups/debug.h"
#include "engine/trace.h"
#include "train/dump.h"

namespace trireme::train {

/// The --dump and --trace of a run's first steps.
class Inspector {
 public:
  /// Watches the session while there are steps to see.
  Inspector(engine::Session& session, const config::DebugOptions& options);
  /// Finishes, where the run ended by an error: what led to it is what one wants to see.
  ~Inspector();
  Inspector(const Inspector&) = delete;
  Inspector& operator=(const Inspector&) = delete;

  void start_iteration(int64_t iteration);
  /// Finishes behind the last step to see.
  void end_iteration();
  /// Writes the trace and watches no longer: what follows runs at full speed.
  void finish();

 private:
  void detach();

  engine::Session& session_;
  int64_t steps_left_;
  std::optional<Path> trace_file_;
  std::optional<engine::Trace> trace_;
  std::optional<Dump> dump_;
};

}  // namespace trireme::train
