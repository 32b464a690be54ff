#pragma once
#include <chrono>
#include <span>

#include "comm/exchange.h"
#include "core/ids.h"
#include "engine/lower.h"
#include "schedule/action.h"

namespace trireme::engine {

/// The host's clock. On an asynchronous device its times tell when something was queued.
using Time = std::chrono::steady_clock::time_point;

/// One op that ran.
struct OpRecord {
  const LoweredOp& op;
  std::span<void* const> operands;  ///< device addresses in the order of the kind's operands
  Time start;
  Time end;
};

/// One exchange of this rank, told behind its wait.
struct ExchangeRecord {
  RankGroup group;
  const comm::Exchange& exchange;
  Time start;      ///< the host began to start it
  Time started;    ///< and went on
  Time completed;  ///< as far as the host saw; not before `started`
  Time wait;       ///< the host came to wait for it
  Time waited;     ///< and went on
};

/// Sees what a session does, in order: for profiles, traces, dumps, and to find where a number went
/// wrong. What an action does is told between its begin and end.
class Observer {
 public:
  Observer() = default;
  virtual ~Observer() = default;
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

  virtual void begin(const schedule::Action&) {}
  virtual void op(const OpRecord&) {}
  virtual void exchange(const ExchangeRecord&) {}
  virtual void end(const schedule::Action&) {}
};

}  // namespace trireme::engine
