#pragma once
#include <array>

#include "device/device.h"
#include "model/address.h"

namespace trireme::engine {

/// The arenas of one rank: one allocation per kind, exactly as large as the plan says.
class RankMemory {
 public:
  /// Refuses, with the memory table, before anything is allocated when the device has not enough.
  RankMemory(device::Device& device, const model::MemoryPlan& plan);

  [[nodiscard]] std::byte* at(const model::Address& address, int slot = 0) const {
    return base(address.arena) + address.offset + address.stride * slot;
  }
  [[nodiscard]] std::byte* base(model::ArenaKind kind) const {
    return arenas_[static_cast<size_t>(kind)].data();
  }
  /// Bytes allocated, by kind.
  [[nodiscard]] int64_t bytes(model::ArenaKind kind) const {
    return arenas_[static_cast<size_t>(kind)].bytes();
  }

 private:
  std::array<device::Arena, model::kArenas> arenas_;
};

}  // namespace trireme::engine
