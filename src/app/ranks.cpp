#include "app/ranks.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "app/program.h"
#include "comm/local/run.h"
#include "comm/local/world.h"
#include "comm/mpi/run.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "ops/cpu/peak.h"

namespace trireme::app {

LocalRank::LocalRank(const config::EngineOptions& options, int threads, comm::Port& port,
                     const parallel::Topology& topology)
    : port_(port),
      at_(topology.coordinates(Rank{port.rank()})),
      cpu_(threads),
      host_stream_(cpu_.make_stream()) {
  // MPI moves nothing on by itself.
  if (port.size() > 1) pool().between_tasks([&port] { port.world().progress(); });
  if (options.device == "cpu") {
    groups_.emplace(port, topology);
    return;
  }
  if (port.size() > 1) {
    fail_usage({.where = "--device " + options.device,
                .what = format("{} ranks", port.size()),
                .rule = "several ranks run on the cores; another device has one",
                .remedy = "leave --device out, or run one rank"});
  }
  plugin_.emplace(plugin::find_plugin(options.device));
  device_.emplace(*plugin_, pool().threads());
  device_group_ = device_->make_communicator(0, 1);
}

engine::Groups LocalRank::groups() const {
  return groups_ ? groups_->all() : engine::Groups(*device_group_);
}

ops::Backend LocalRank::backend() {
  const program::BackendProfile profile = {.threads = pool().threads()};
  if (device_) return {.device = &*device_, .kernels = &device_->kernels(), .profile = profile};
  return {.device = &cpu_, .kernels = &ops::cpu_kernels(), .profile = profile};
}

LocalRank::Peak LocalRank::peak() {
  if (device_) {
    const plugin::PluginDevice::Peak peak = device_->peak();
    return {.flops = peak.flops, .how = peak.how};
  }
  return {.flops = ops::cpu::measured_fma_rate(pool(), 0.3),
          .how = format("the FMA rate of {} thread{} measured now", pool().threads(),
                        pool().threads() == 1 ? "" : "s")};
}

Ranks::Ranks(const config::EngineOptions& options)
    : options_(options), launch_(comm::mpi::launch_here()) {
  count_ = launch_.is_many() ? launch_.size : static_cast<int>(options.ranks);
  here_ = launch_.is_many() && launch_.local_size > 0 ? launch_.local_size : count_;
  threads_ = options.threads_per_rank > 0 ? static_cast<int>(options.threads_per_rank)
                                          : std::clamp(cores() / here_, 1, usable_cores());
  if (!launch_.is_many()) return;
  if (options.ranks != 1 && options.ranks != launch_.size) {
    fail_usage({.where = "--ranks",
                .what = format("{} ranks, and {} started {} processes", options.ranks,
                               comm::mpi::name_of(launch_.launcher), launch_.size),
                .rule = "under a launcher each process is a rank",
                .remedy = "leave --ranks out, or start the program without the launcher"});
  }
}

// A launcher may have bound this process to a part of them; who started it may use all.
int Ranks::cores() const {
  return launch_.is_many() ? std::max(usable_cores(), usable_cores(::getppid())) : usable_cores();
}

void Ranks::run(const parallel::Topology& topology,
                const std::function<void(LocalRank& rank)>& body) const {
  topology.require_world_size(count_);
  const comm::Patience patience = {.limit = options_.timeout(),
                                   .crowded = here_ * threads_ > cores()};
  const auto on_port = [&](comm::Port& port) {
    LocalRank rank(options_, threads_, port, topology);
    body(rank);
    port.finish(rank.host_stream());
  };
  std::vector<std::string> places;
  for (int rank = 0; rank < count_; ++rank)
    places.push_back(topology.coordinates(Rank{rank}).text());
  if (launch_.is_many()) {
    comm::mpi::run_mpi(
        {.launch = launch_, .places = [&](int) { return places; }, .patience = patience}, on_port);
  } else if (count_ == 1) {
    comm::LocalWorld world(1);
    comm::Port port(world.transport(0), patience);
    on_port(port);
  } else {
    // A thread that is stuck ends with its process.
    const auto stuck = [](const std::exception_ptr& cause) { std::_Exit(tell_failure(cause)); };
    comm::run_ranks({.ranks = count_, .places = places, .patience = patience, .stuck = stuck},
                    [&](comm::Port& port) {
                      be_quiet(port.rank() != 0);
                      on_port(port);
                    });
  }
}

}  // namespace trireme::app
