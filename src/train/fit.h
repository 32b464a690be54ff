#pragma once
#include "device/device.h"
#include "model/run_plan.h"

namespace trireme::train {

/// Refuses, before anything is read or allocated, a plan that needs more memory than the device
/// has: with the memory table, and with the largest microbatch, or else sequence length, that would
/// fit. request: what the plan was made from.
void require_memory(const model::RunRequest& request, const model::RunPlan& plan,
                    const device::Device& device);

}  // namespace trireme::train
