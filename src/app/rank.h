#pragma once
#include "comm/local/solo.h"
#include "config/groups/engine.h"
#include "device/cpu/cpu_device.h"
#include "engine/session.h"
#include "ops/kernel.h"

namespace trireme::app {

/// The machine of the one rank that this program runs: its cores, its kernels, its group of one.
struct LocalRank {
  /// Throws a usage error for more ranks than one.
  explicit LocalRank(const config::EngineOptions& options);

  [[nodiscard]] ops::Backend backend() {
    return {.device = &cpu,
            .kernels = &ops::cpu_kernels(),
            .profile = {.threads = cpu.pool().threads()}};
  }

  device::CpuDevice cpu;
  comm::SoloCommunicator tensor_group;
};

/// Threads of each rank: as asked for, or this machine's usable cores over the ranks.
[[nodiscard]] int threads_of(const config::EngineOptions& options);

}  // namespace trireme::app
