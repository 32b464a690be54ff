// A device with a mistake: the CPU, with one element of one gradient that is not what it should be.
// For tests of who looks for such.

#include "comm/local/solo.h"
#include "core/error.h"
#include "device/cpu/cpu_device.h"
#include "plugin/serve.h"

namespace trireme::plugin {
namespace {

// The first number of the gradient of layer 1's first MLP matrix is zero.
void wrong_weight_gradient(device::Stream& stream, const program::OpSpec& spec,
                           const ops::Arguments& arguments) {
  ops::cpu_kernels()[spec](stream, spec, arguments);
  const auto& op = std::get<program::ProductWeightGradient>(spec);
  if (arguments.layer == 1 && op.out == 4 * op.in) *arguments.pointer<float>(op.kDw) = 0;
}

const ops::KernelTable& kernels() {
  static const ops::KernelTable table = [] {
    ops::KernelTable wrong = ops::cpu_kernels();
    wrong.kernels[program::OpSpec(program::ProductWeightGradient{}).index()] =
        wrong_weight_gradient;
    return wrong;
  }();
  return table;
}

std::unique_ptr<device::Device> make_device(int threads) {
  return std::make_unique<device::CpuDevice>(threads);
}

std::unique_ptr<comm::Communicator> make_communicator(device::Device&, int, int size) {
  TRIREME_ASSERT(size == 1, "a test of one rank");
  return std::make_unique<comm::SoloCommunicator>();
}

double peak(device::Device&, std::string& how) {
  how = "a number of a test";
  return 1e9;
}

}  // namespace
}  // namespace trireme::plugin

extern "C" __attribute__((visibility("default"))) const trireme::plugin::abi::Table*
trireme_plugin() noexcept {
  using namespace trireme;
  return plugin::serve({.name = "wrong",
                        .make_device = plugin::make_device,
                        .kernels = plugin::kernels,
                        .make_communicator = plugin::make_communicator,
                        .peak = plugin::peak});
}
