#pragma once
#include <functional>
#include <optional>
#include <string>

#include "comm/mpi/launch.h"
#include "comm/port.h"
#include "config/groups/engine.h"
#include "device/cpu/cpu_device.h"
#include "engine/groups.h"
#include "ops/kernel.h"
#include "parallel/topology.h"
#include "plugin/plugin_device.h"

namespace trireme::app {

/// The machine of one rank: its cores, the device that the model is on, its groups of ranks.
class LocalRank {
 public:
  /// What opening the device throws; a usage error for several ranks on one that has no groups.
  LocalRank(const config::EngineOptions& options, int threads, comm::Port& port,
            const parallel::Topology& topology);

  [[nodiscard]] int number() const { return port_.rank(); }  ///< in the world
  [[nodiscard]] parallel::Coordinates at() const { return at_; }
  /// Whether it tells what all ranks know, and writes what is written once.
  [[nodiscard]] bool is_first() const { return number() == 0; }
  /// The rank's cores, for the host's work.
  [[nodiscard]] ThreadPool& pool() { return cpu_.pool(); }
  [[nodiscard]] ops::Backend backend();
  [[nodiscard]] engine::Groups groups() const;
  /// All ranks, over memory of the host, and a stream to order exchanges by.
  [[nodiscard]] comm::Communicator& world() { return port_.world(); }
  [[nodiscard]] device::Stream& host_stream() { return *host_stream_; }

  /// FLOP/s that MFU counts against, and how they are known.
  struct Peak {
    double flops = 0;
    std::string how;
  };
  [[nodiscard]] Peak peak();

 private:
  comm::Port& port_;
  parallel::Coordinates at_;
  device::CpuDevice cpu_;
  std::unique_ptr<device::Stream> host_stream_;
  std::optional<plugin::Plugin> plugin_;
  std::optional<plugin::PluginDevice> device_;  // none: the model is on the cores
  std::unique_ptr<comm::Communicator> device_group_;
  std::optional<engine::RankGroups> groups_;
};

/// How a subcommand runs its ranks: as threads of this process, or over MPI where a launcher
/// started several, each a rank.
class Ranks {
 public:
  /// Usage error: --ranks contradicts the launcher.
  explicit Ranks(const config::EngineOptions& options);

  /// Ranks of the run.
  [[nodiscard]] int count() const { return count_; }
  /// Compute threads of each: as asked for, or this machine's cores over the ranks on it, but no
  /// more than the launcher bound this one to.
  [[nodiscard]] int threads() const { return threads_; }

  /// Whether ranks are on more hosts than this one.
  [[nodiscard]] bool span_hosts() const { return here_ < count_; }
  /// Ranks of this machine.
  [[nodiscard]] int here() const { return here_; }
  /// Whether each is a process of its own.
  [[nodiscard]] bool are_processes() const { return launch_.is_many(); }

  /// Runs body on every rank of this process and returns when all have ended; a rank that throws
  /// ends all, and what it threw is thrown (or told, where the process ends over MPI). The topology
  /// has count() ranks.
  void run(const parallel::Topology& topology,
           const std::function<void(LocalRank& rank)>& body) const;

 private:
  [[nodiscard]] int cores() const;  // of this machine, that the ranks on it share

  const config::EngineOptions& options_;
  comm::mpi::Launch launch_;
  int count_;
  int here_;
  int threads_;
};

}  // namespace trireme::app
