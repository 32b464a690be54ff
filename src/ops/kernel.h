#pragma once
#include <array>
#include <cstdint>
#include <span>

#include "device/device.h"
#include "program/op.h"

namespace trireme::ops {

/// What a kernel gets beside its stream and its op: addresses on its device, in the order of the
/// kind's operands (null where an operand has no elements), the caller's workspace, and what
/// differs between two instances or two microbatches of one block.
struct Arguments {
  std::span<void* const> operands;
  std::byte* workspace = nullptr;  ///< at least workspace_bytes(profile), aligned to 64 bytes
  uint32_t layer = 0;              ///< for random numbers
  bool accumulate = false;  ///< for operands of Access::add: add to what is there, or overwrite it

  template <class T>
  [[nodiscard]] T* pointer(int operand) const {
    return static_cast<T*>(operands[static_cast<size_t>(operand)]);
  }
};

/// Queues one op on a stream. No host scalar goes in or comes out: losses, norms and factors are
/// operands.
using Kernel = void (*)(device::Stream& stream, const program::OpSpec& op,
                        const Arguments& arguments);

/// One kernel per op kind, in the order of program::OpSpec. Collectives have none: the engine runs
/// them on a communicator.
struct KernelTable {
  std::array<Kernel, program::kOpKinds> kernels = {};
  [[nodiscard]] Kernel operator[](const program::OpSpec& op) const { return kernels[op.index()]; }
};

/// A device with kernels for it, and what the planner may know of them.
struct Backend {
  device::Device* device = nullptr;
  const KernelTable* kernels = nullptr;
  program::BackendProfile profile;
};

/// The specification: plain scalar loops in double accumulation, single thread. For CPU streams.
[[nodiscard]] const KernelTable& reference_kernels();

/// The CPU backend's kernels. For CPU streams.
[[nodiscard]] const KernelTable& cpu_kernels();

/// The CPU backend's kernels behind the lazy streams of a null device: each checks, when it runs,
/// that its operands and its workspace lie whole in the device's memory. Bit-equal to cpu_kernels().
[[nodiscard]] const KernelTable& null_kernels();

/// Fills a slot of a table: entry<LayerNorm, cpu::layer_norm>(table).
template <class Spec, void (*Function)(device::Stream&, const Spec&, const Arguments&)>
void entry(KernelTable& table) {
  table.kernels[program::OpSpec(Spec{}).index()] =
      [](device::Stream& stream, const program::OpSpec& op, const Arguments& arguments) {
        Function(stream, *std::get_if<Spec>(&op), arguments);
      };
}

}  // namespace trireme::ops
