#pragma once
#include <memory>
#include <optional>
#include <string>

#include "comm/communicator.h"
#include "config/groups/engine.h"
#include "device/cpu/cpu_device.h"
#include "ops/kernel.h"
#include "plugin/plugin_device.h"

namespace trireme::app {

/// The machine of the one rank that this program runs: its cores, the device that the model is on,
/// and its groups of ranks.
class LocalRank {
 public:
  /// Throws a usage error for more ranks than one, and what opening the device throws.
  explicit LocalRank(const config::EngineOptions& options);

  /// The rank's cores, for the host's work.
  [[nodiscard]] ThreadPool& pool() { return cpu_.pool(); }
  [[nodiscard]] ops::Backend backend();
  [[nodiscard]] comm::Communicator& tensor_group() { return *tensor_group_; }

  /// FLOP/s that MFU counts against, and how they are known.
  struct Peak {
    double flops = 0;
    std::string how;
  };
  [[nodiscard]] Peak peak();

 private:
  device::CpuDevice cpu_;
  std::optional<plugin::Plugin> plugin_;
  std::optional<plugin::PluginDevice> device_;  // none: the model is on the cores
  std::unique_ptr<comm::Communicator> tensor_group_;
};

/// Threads of each rank: as asked for, or this machine's usable cores over the ranks.
[[nodiscard]] int threads_of(const config::EngineOptions& options);

}  // namespace trireme::app
