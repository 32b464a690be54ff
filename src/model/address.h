#pragma once
#include <cstdint>

#include "model/run_plan.h"

namespace trireme::model {

/// A value's address: base of the arena + offset + slot x stride, where the slot belongs to the
/// chunk and microbatch.
struct Address {
  ArenaKind arena = ArenaKind::temporaries;
  int64_t offset = 0;
  int64_t stride = 0;
};

/// Address of one of a placed program's flows.
[[nodiscard]] Address address_of_flow(const PlacedProgram& placed, int flow);

/// Address of a block's value in one instance of a placed program.
[[nodiscard]] Address address_of(const RunPlan& plan, const PlacedProgram& placed, size_t instance,
                                 int value);

}  // namespace trireme::model
