#pragma once
#include <optional>

#include "config/groups/debug.h"
#include "engine/trace.h"
#include "train/dump.h"
#include "train/together.h"

namespace trireme::train {

/// The --dump and --trace of a run's first steps. The trace is of all ranks, one file that the
/// first rank writes.
class Inspector {
 public:
  /// Watches the session while there are steps to see. Made, told and finished by all ranks at the
  /// same places of the run.
  Inspector(engine::Session& session, const World& world, const config::DebugOptions& options);
  /// Where the run ended by an error, what led to it is what one wants to see: each rank writes
  /// what it saw, the first one to the file, rank 3 to FILE.rank3.
  ~Inspector();
  Inspector(const Inspector&) = delete;
  Inspector& operator=(const Inspector&) = delete;

  void start_iteration(int64_t iteration);
  /// Finishes behind the last step to see.
  void end_iteration();
  /// Writes the trace and watches no longer: what follows runs at full speed.
  void finish();

 private:
  void write_trace();
  void write_own_trace() const;
  void detach();

  engine::Session& session_;
  World world_;
  int64_t steps_left_;
  std::optional<Path> trace_file_;
  std::optional<engine::Trace> trace_;
  engine::ClockReading clock_;  // at the begin
  std::optional<Dump> dump_;
};

}  // namespace trireme::train
