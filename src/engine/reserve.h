#pragma once
#include "engine/groups.h"
#include "model/run_plan.h"

namespace trireme::engine {

/// Lets the groups allocate now for all that a run of the plan has under way at once, so that they
/// need nothing more between the first and the last action of a batch (Communicator::reserve).
void reserve_exchanges(const model::RunPlan& plan, const Groups& groups);

}  // namespace trireme::engine
