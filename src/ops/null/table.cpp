#include <string>
#include <vector>

#include "core/error.h"
#include "core/format.h"
#include "device/null/null_device.h"
#include "ops/kernel.h"

namespace trireme::ops {
namespace {

// An op that is on its way: all that the caller may change or free meanwhile, copied.
struct QueuedOp {
  device::NullDevice& device;
  program::OpSpec op;
  std::vector<void*> operands;
  std::byte* workspace;
  uint32_t layer;
  bool accumulate;

  void run() const {
    const std::string name = std::string(program::name_of(op));
    const std::vector<program::Operand> declared = program::operands_of(op);
    TRIREME_ASSERT(operands.size() == declared.size(), "an address for each operand of the kind");
    std::vector<void*> on_host(operands.size());
    for (size_t i = 0; i < operands.size(); ++i) {
      const int64_t bytes = declared[i].elements * bytes_of(declared[i].dtype);
      if (operands[i] == nullptr || bytes == 0) continue;
      on_host[i] =
          device.host_address(operands[i], bytes, format("{} of {}", declared[i].name, name));
    }
    device::CpuStream& stream = device.cpu_stream();
    const int64_t scratch = program::workspace_of(op, {.threads = stream.pool().threads()});
    cpu_kernels()[op](stream, op,
                      {.operands = on_host,
                       .workspace = scratch == 0 ? nullptr
                                                 : device.host_address(workspace, scratch,
                                                                       "workspace of " + name),
                       .layer = layer,
                       .accumulate = accumulate});
  }
};

void queue(device::Stream& stream, const program::OpSpec& op, const Arguments& arguments) {
  auto& lazy = static_cast<device::NullStream&>(stream);
  lazy.queue([queued = QueuedOp{.device = lazy.device(),
                                .op = op,
                                .operands = {arguments.operands.begin(), arguments.operands.end()},
                                .workspace = arguments.workspace,
                                .layer = arguments.layer,
                                .accumulate = arguments.accumulate}] { queued.run(); });
}

KernelTable make_table() {
  KernelTable table;
  for (size_t kind = 0; kind < program::kOpKinds; ++kind)
    if (cpu_kernels().kernels[kind] != nullptr) table.kernels[kind] = queue;
  return table;
}

}  // namespace

const KernelTable& null_kernels() {
  static const KernelTable table = make_table();
  return table;
}

}  // namespace trireme::ops
