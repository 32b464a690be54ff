#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "engine/clock.h"
#include "engine/observer.h"
#include "parallel/topology.h"

namespace trireme::engine {

/// Collects when each step, action, op and exchange of a rank's session was, for a Chrome trace: a
/// JSON file that chrome://tracing and Perfetto show. A process is a rank; docs/tracing.md says
/// what its rows are.
class Trace final : public Observer {
 public:
  Trace(const parallel::Topology& topology, Rank rank) : topology_(topology), rank_(rank) {}

  void begin_step(int64_t iteration);
  void end_step();
  void begin(const schedule::Action& action) override;
  void op(const OpRecord& record) override;
  void exchange(const ExchangeRecord& record) override;
  void end(const schedule::Action& action) override;

  /// When the first event began, on the rank's clock; now where there is none.
  [[nodiscard]] int64_t first() const;
  /// This rank's events for chrome_trace(). Times are the first rank's, from its time `origin` on,
  /// in nanoseconds.
  [[nodiscard]] std::string events(const ClockLine& clock, int64_t origin) const;

 private:
  struct Step {
    int64_t iteration;
    Time start;
    Time end;
  };
  struct ActionSpan {
    schedule::Action action;
    Time start;
    Time end;
  };
  struct OpSpan {
    std::string_view name;
    int layer;
    Time start;
    Time end;
  };
  struct Exchanged {
    RankGroup group;
    comm::Exchange exchange;
    Time start;
    Time started;
    Time completed;
    Time wait;
    Time waited;
  };
  class Writer;

  [[nodiscard]] std::string peer_of(const Exchanged& one) const;

  parallel::Topology topology_;
  Rank rank_;
  std::vector<Step> steps_;
  std::vector<ActionSpan> actions_;
  std::vector<OpSpan> ops_;
  std::vector<Exchanged> exchanges_;
  Time last_;  // of what is known
};

/// The file, from what the ranks have.
[[nodiscard]] std::string chrome_trace(const std::vector<std::string>& events_of_ranks);

}  // namespace trireme::engine
