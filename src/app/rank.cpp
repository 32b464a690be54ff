#include "app/rank.h"

#include <algorithm>

#include "comm/local/solo.h"
#include "core/error.h"
#include "core/format.h"
#include "ops/cpu/peak.h"

namespace trireme::app {
namespace {

int one_rank(const config::EngineOptions& options) {
  if (options.ranks != 1) {
    fail_usage({.where = "--ranks",
                .what = format("{} ranks", options.ranks),
                .rule = "this version runs one rank; it plans any number with --dry-run",
                .remedy = "leave the option out"});
  }
  return threads_of(options);
}

}  // namespace

int threads_of(const config::EngineOptions& options) {
  if (options.threads_per_rank > 0) return static_cast<int>(options.threads_per_rank);
  return std::max(1, usable_cores() / static_cast<int>(options.ranks));
}

LocalRank::LocalRank(const config::EngineOptions& options) : cpu_(one_rank(options)) {
  if (options.device == "cpu") {
    tensor_group_ = std::make_unique<comm::SoloCommunicator>();
    return;
  }
  plugin_.emplace(plugin::find_plugin(options.device));
  device_.emplace(*plugin_, pool().threads());
  tensor_group_ = device_->make_communicator(0, 1);
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
          .how = format("the FMA rate of {} threads measured now", pool().threads())};
}

}  // namespace trireme::app
