#pragma once
#include <array>
#include <span>

#include "core/ids.h"
#include "program/operand.h"

namespace trireme::program {

/// How ranks' buffers are joined.
enum class Reduction { sum, maximum };

/// What bytes on the wire are: the complete list, by which they are counted. Between two ranks each
/// kind is a channel of its own.
enum class Traffic : uint8_t {
  activation,  ///< outputs of layers, forward: tensor group, stage to stage
  gradient,    ///< of activations, backward; of parameters, over the data group
  parameter,   ///< updated by their owner, gathered by the others
  tied,        ///< gradients of tensors that two stages hold
  token,       ///< what was generated, last stage to all
  loss,        ///< parts of the cross entropy, and the loss
  norm,        ///< squares of the gradient norm
  agreement,   ///< what the ranks must be of one mind about: options, exits, ends
};
inline constexpr size_t kTraffics = 8;

[[nodiscard]] constexpr std::string_view name_of(Traffic traffic) {
  constexpr std::array<std::string_view, kTraffics> kNames = {
      "activation", "gradient", "parameter", "tied", "token", "loss", "norm", "agreement"};
  return kNames[static_cast<size_t>(traffic)];
}

/// Starts the all-reduce of a buffer in place over a group; its wait stands before the buffer's
/// next use. All ranks of a group start theirs in the same order. Emitted only where the group has
/// more than one rank.
///   buffer [elements]
struct AllReduceStart {
  static constexpr std::string_view kName = "all_reduce_start";
  enum { kBuffer };
  RankGroup group = RankGroup::tensor;
  Traffic traffic = Traffic::activation;
  int64_t ranks = 1;
  int64_t elements = 0;
  Reduction reduction = Reduction::sum;

  [[nodiscard]] std::vector<Operand> operands() const {
    return {{"buffer", Access::update, DType::f32, elements}};
  }
  [[nodiscard]] Cost cost() const { return {}; }
  [[nodiscard]] int64_t workspace_bytes(const BackendProfile&) const { return 0; }
  /// Bytes each rank sends: 2 (n-1)/n of the buffer, that of a ring.
  [[nodiscard]] double wire_bytes() const {
    return 2.0 * static_cast<double>(ranks - 1) / static_cast<double>(ranks) * 4 *
           static_cast<double>(elements);
  }
};

/// Waits for the all-reduce that was started on this buffer.
struct AllReduceWait {
  static constexpr std::string_view kName = "all_reduce_wait";
  enum { kBuffer };
  RankGroup group = RankGroup::tensor;
  int64_t elements = 0;

  [[nodiscard]] std::vector<Operand> operands() const {
    return {{"buffer", Access::update, DType::f32, elements}};
  }
  [[nodiscard]] Cost cost() const { return {}; }
  [[nodiscard]] int64_t workspace_bytes(const BackendProfile&) const { return 0; }
};

/// Starts to fill the other ranks' parts of a buffer with what they have there. Part r, rank r's,
/// is [cuts[r], cuts[r + 1]) in bytes.
///   buffer [elements]
struct AllGatherStart {
  static constexpr std::string_view kName = "all_gather_start";
  enum { kBuffer };
  RankGroup group = RankGroup::tensor;
  Traffic traffic = Traffic::activation;
  DType dtype = DType::f32;
  int64_t elements = 0;
  std::span<const int64_t> cuts = {};  ///< a rank more than the group has; the block's
  int64_t own = 0;                     ///< this rank's part

  [[nodiscard]] std::vector<Operand> operands() const {
    return {{"buffer", Access::part, dtype, elements}};
  }
  [[nodiscard]] Cost cost() const { return {}; }
  [[nodiscard]] int64_t workspace_bytes(const BackendProfile&) const { return 0; }
  /// Bytes this rank sends: its part to each other rank.
  [[nodiscard]] double wire_bytes() const {
    const auto part = static_cast<size_t>(own);
    return static_cast<double>(cuts.size() - 2) * static_cast<double>(cuts[part + 1] - cuts[part]);
  }
};

/// Waits for the gathering that was started on this buffer.
struct AllGatherWait {
  static constexpr std::string_view kName = "all_gather_wait";
  enum { kBuffer };
  RankGroup group = RankGroup::tensor;
  DType dtype = DType::f32;
  int64_t elements = 0;

  [[nodiscard]] std::vector<Operand> operands() const {
    return {{"buffer", Access::part, dtype, elements}};
  }
  [[nodiscard]] Cost cost() const { return {}; }
  [[nodiscard]] int64_t workspace_bytes(const BackendProfile&) const { return 0; }
};

}  // namespace trireme::program
