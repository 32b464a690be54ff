#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "engine/observer.h"

namespace trireme::engine {

/// Collects when each action and op of a session ran, for a Chrome trace: a JSON file that
/// chrome://tracing and Perfetto show. One row for actions, one for their ops below it.
class Trace final : public Observer {
 public:
  explicit Trace(int rank) : rank_(rank) {}

  void begin(const schedule::Action& action) override;
  void op(const OpRecord& record) override;
  void end(const schedule::Action& action) override;

  /// The whole trace; times count from the first event.
  [[nodiscard]] std::string json() const;

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Event {
    std::string name;
    std::string_view category;  ///< "action" or "op"
    int layer = -1;             ///< of an op
    Time start;
    Time end;
  };

  int rank_;
  Time action_start_;
  std::vector<Event> events_;
};

}  // namespace trireme::engine
