#pragma once
// Kernels that take time and no core: ranks by the number are what they would be with a machine
// each.

#include <chrono>
#include <thread>

#include "ops/kernel.h"

namespace trireme {

inline constexpr std::chrono::milliseconds kForwardSleep{15};   ///< of a layer
inline constexpr std::chrono::milliseconds kBackwardSleep{30};  ///< of a layer

/// The attention of a layer sleeps, in forward and in backward; all else does nothing. So stages of
/// equally many layers take equally long.
inline const ops::KernelTable& sleeping_kernels() {
  static const ops::KernelTable table = [] {
    ops::KernelTable kernels;
    kernels.kernels.fill([](device::Stream&, const program::OpSpec&, const ops::Arguments&) {});
    kernels.kernels[program::OpSpec(program::Attention{}).index()] =
        [](device::Stream&, const program::OpSpec&, const ops::Arguments&) {
          std::this_thread::sleep_for(kForwardSleep);
        };
    kernels.kernels[program::OpSpec(program::AttentionBackward{}).index()] =
        [](device::Stream&, const program::OpSpec&, const ops::Arguments&) {
          std::this_thread::sleep_for(kBackwardSleep);
        };
    return kernels;
  }();
  return table;
}

}  // namespace trireme
