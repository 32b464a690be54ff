#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "engine/groups.h"
#include "model/wire_plan.h"

namespace trireme::engine {

/// Bytes that a rank sent so far in its groups.
[[nodiscard]] model::WireBytes bytes_sent(const Groups& groups);

/// What a session has done, as far as it sends bytes: the plan's side of the account that its
/// groups keep. Allocates nothing once it is made.
class Ledger {
 public:
  explicit Ledger(const model::RunPlan& plan);

  void note(model::Mode mode, const schedule::Action& action) {
    ++done_[static_cast<size_t>(action.chunk.value)][mode == model::Mode::train ? 0 : 1]
           [static_cast<size_t>(action.kind)];
  }
  void note_gather(program::Traffic traffic) { ++gathers_[static_cast<size_t>(traffic)]; }

  /// What the plan says of all this. plan: the one of the ledger.
  [[nodiscard]] model::WireBytes planned(const model::RunPlan& plan) const;

 private:
  static constexpr size_t kKinds = static_cast<size_t>(schedule::ActionKind::step) + 1;
  using Done = std::array<std::array<int64_t, kKinds>, 2>;  // training, evaluation
  std::vector<Done> done_;                                  // [chunk]
  std::array<int64_t, program::kTraffics> gathers_ = {};
};

}  // namespace trireme::engine
