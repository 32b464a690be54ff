// The null device as a plugin: device/null, ops/null and comm/null behind plugin/abi.h.

#include "comm/local/solo.h"
#include "comm/null/null_communicator.h"
#include "core/error.h"
#include "core/format.h"
#include "device/null/null_device.h"
#include "ops/cpu/peak.h"
#include "plugin/serve.h"

namespace trireme::plugin {
namespace {

std::unique_ptr<device::Device> make_device(int threads) {
  return std::make_unique<device::NullDevice>(threads);
}

std::unique_ptr<comm::Communicator> make_communicator(device::Device& device, int rank, int size) {
  if (size != 1 || rank != 0) {
    fail_usage({.where = "null device",
                .what = format("rank {} of a group of {}", rank, size),
                .rule = "its groups have one rank",
                .remedy = "use one rank"});
  }
  return std::make_unique<comm::NullCommunicator>(static_cast<device::NullDevice&>(device),
                                                  std::make_unique<comm::SoloCommunicator>());
}

double peak(device::Device& device, std::string& how) {
  ThreadPool& pool = static_cast<device::NullDevice&>(device).cpu_stream().pool();
  how = format("the FMA rate of {} threads measured now", pool.threads());
  return ops::cpu::measured_fma_rate(pool, 0.3);
}

}  // namespace
}  // namespace trireme::plugin

extern "C" __attribute__((visibility("default"))) const trireme::plugin::abi::Table*
trireme_plugin() noexcept {
  using namespace trireme;
  return plugin::serve({.name = "null",
                        .make_device = plugin::make_device,
                        .kernels = ops::null_kernels,
                        .make_communicator = plugin::make_communicator,
                        .peak = plugin::peak});
}
