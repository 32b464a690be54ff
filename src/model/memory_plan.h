#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace trireme::model {

/// One kind of memory of a rank, allocated once before the first step.
enum class ArenaKind : uint8_t {
  parameters,
  gradients,
  first_moments,
  second_moments,
  activations,           ///< saved values: a slot per chunk and microbatch in flight
  temporaries,           ///< what one action needs only
  workspace,             ///< scratch of the kernels
  received_activations,  ///< what other stages make: a buffer per message that is needed at once
  sent_activations,
  received_gradients,
  sent_gradients,
  batch,  ///< batch fields: a slot per microbatch that any chunk has in flight
  scalars,
  cache,    ///< keys and values when decoding
  decoded,  ///< logits of decoding; tokens on their way from the last stage to all
};
inline constexpr int kArenas = 15;
[[nodiscard]] std::string_view name_of(ArenaKind kind);

/// What a chunk saves in forward for backward: a slot for each microbatch in flight.
struct ChunkActivations {
  int in_flight = 0;
  int64_t slot_bytes = 0;
  [[nodiscard]] int64_t bytes() const { return slot_bytes * in_flight; }
};

/// Bytes of each arena of one rank.
struct MemoryPlan {
  std::array<int64_t, kArenas> bytes = {};
  std::vector<ChunkActivations> chunks = {};  ///< how the activations are made up, when training

  [[nodiscard]] int64_t& operator[](ArenaKind kind) { return bytes[static_cast<size_t>(kind)]; }
  [[nodiscard]] int64_t operator[](ArenaKind kind) const {
    return bytes[static_cast<size_t>(kind)];
  }
  [[nodiscard]] int64_t total() const;
  /// The memory table, in MiB. Its rows make up the total.
  [[nodiscard]] std::string text() const;
};

}  // namespace trireme::model
