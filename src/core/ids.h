#pragma once
#include <array>
#include <compare>
#include <cstdint>
#include <string_view>

namespace trireme {

/// A number that must not be mixed up with another kind of number. Zero-based.
template <class Tag>
struct Id {
  int32_t value = 0;
  auto operator<=>(const Id&) const = default;
};

using Rank = Id<struct RankTag>;      ///< in [0, world size)
using StageId = Id<struct StageTag>;  ///< virtual stage in [0, p v), in order of the layers
using ChunkId = Id<struct ChunkTag>;  ///< model chunk of one rank, in [0, v)
using MicrobatchId = Id<struct MicrobatchTag>;  ///< in [0, m)
using LayerId = Id<struct LayerTag>;            ///< transformer layer in [0, l), global
using TensorId = Id<struct TensorTag>;          ///< row of the tensor table

/// The named axes of the topology. Context and expert are always 1 so far.
enum class Axis { tensor, context, expert, data, pipeline };

[[nodiscard]] constexpr std::string_view name_of(Axis axis) {
  constexpr std::array<std::string_view, 5> kNames = {"tensor", "context", "expert", "data",
                                                      "pipeline"};
  return kNames[static_cast<size_t>(axis)];
}

/// The groups of ranks that a rank is in. tensor, data, pipeline: those that differ on one axis
/// only; tied: first and last stage, which both hold the word embeddings; model: the ranks that
/// hold one copy of the model between them; world: all.
enum class RankGroup : uint8_t { tensor, data, pipeline, tied, model, world };
inline constexpr size_t kRankGroups = 6;

[[nodiscard]] constexpr std::string_view name_of(RankGroup group) {
  constexpr std::array<std::string_view, kRankGroups> kNames = {"tensor", "data",  "pipeline",
                                                                "tied",   "model", "world"};
  return kNames[static_cast<size_t>(group)];
}

}  // namespace trireme
