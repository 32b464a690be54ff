#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "program/program.h"

namespace trireme::program {

/// How a schedule runs backward: `B` as one action, or `I` and `W` apart (then what W needs must
/// outlive I).
enum class BackwardForm { joined, split };

/// Actions that use a value, as bits: forward, input gradient (or joined backward), weight
/// gradient.
struct Uses {
  bool forward = false;
  bool input_gradient = false;
  bool weight_gradient = false;

  [[nodiscard]] int count() const {
    return int{forward} + int{input_gradient} + int{weight_gradient};
  }
  /// As in "F", "F to B", "I to W".
  [[nodiscard]] std::string text(BackwardForm form) const;
};

/// Where a value lies: saved values in the microbatch's slot, since more than one action uses them;
/// temporaries in memory that all actions share; persistent ones in their instance's own; the
/// chunk's ends in the buffers of messages, and logits of decoding in theirs (apart).
struct Placement {
  enum class Area { none, saved, temporary, persistent, apart };
  Area area = Area::none;
  int64_t offset =
      0;  ///< bytes; of a block's saved and persistent values: from the instance's base
  Uses uses;
};

/// Offsets of every local, flow and persistent value of a program. Two values share memory only
/// when no op needs both.
struct SlotPlan {
  BackwardForm form = BackwardForm::joined;
  std::vector<std::vector<Placement>> locals;  ///< [block][value]
  std::vector<Placement> flows;                ///< [flow]
  std::vector<int64_t> saved_base;  ///< [instance] offset of its saved locals in the slot
  int64_t saved_bytes = 0;          ///< one slot: one microbatch of the chunk
  int64_t temporary_bytes = 0;
  std::vector<int64_t> persistent_base;  ///< [instance]
  int64_t persistent_bytes = 0;
};

/// Slots from liveness: per block once, however many instances there are. Offsets are multiples of
/// 64 bytes.
[[nodiscard]] SlotPlan plan_slots(const Program& program, BackwardForm form);

}  // namespace trireme::program
