#pragma once
#include <chrono>
#include <span>

#include "engine/lower.h"
#include "schedule/action.h"

namespace trireme::engine {

/// One op that ran. Times are the host's; on an asynchronous device they tell when it was queued.
struct OpRecord {
  const LoweredOp& op;
  std::span<void* const> operands;  ///< device addresses in the order of the kind's operands
  std::chrono::steady_clock::time_point start;
  std::chrono::steady_clock::time_point end;
};

/// Sees what a session does, in order: for profiles, traces, dumps, and to find where a number went
/// wrong. An op of an action is reported between the action's begin and end.
class Observer {
 public:
  Observer() = default;
  virtual ~Observer() = default;
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

  virtual void begin(const schedule::Action&) {}
  virtual void op(const OpRecord&) {}
  virtual void end(const schedule::Action&) {}
};

}  // namespace trireme::engine
