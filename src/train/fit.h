#pragma once
#include "device/device.h"
#include "model/run_plan.h"

namespace trireme::train {

/// Refuses, before anything is read or allocated, ranks that need more memory than their device
/// has: with the memory table, and with the largest microbatch, or else sequence length, that would
/// fit. request: what the plan of one of them was made from. bytes: what all ranks on this device
/// need.
void require_memory(const model::RunRequest& request, const model::RunPlan& plan, int64_t bytes,
                    const device::Device& device);

}  // namespace trireme::train
