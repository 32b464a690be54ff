#pragma once
#include <memory>
#include <string>

#include "comm/communicator.h"
#include "device/device.h"
#include "ops/kernel.h"
#include "plugin/abi.h"

namespace trireme::plugin {

/// What a plugin consists of, in the program's own terms: the library's side of abi.h.
struct Offer {
  const char* name = "";  ///< of the kind of device
  std::unique_ptr<device::Device> (*make_device)(int threads) = nullptr;
  const ops::KernelTable& (*kernels)() = nullptr;
  /// Of a group of `size` ranks, seen from one. Throws where it cannot make it.
  std::unique_ptr<comm::Communicator> (*make_communicator)(device::Device& device, int rank,
                                                           int size) = nullptr;
  /// FLOP/s that count as all of the device, and how they are known.
  double (*peak)(device::Device& device, std::string& how) = nullptr;
};

/// The table that does what is offered: exceptions become failures, objects become handles. To be
/// returned by trireme_plugin(); one offer per library.
[[nodiscard]] const abi::Table* serve(const Offer& offer);

}  // namespace trireme::plugin
