#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "program/op/attention.h"
#include "program/op/collective.h"
#include "program/op/cross_entropy.h"
#include "program/op/elementwise.h"
#include "program/op/embedding.h"
#include "program/op/layer_norm.h"
#include "program/op/optimizer.h"
#include "program/op/product.h"
#include "program/op/stored_attention.h"

namespace trireme::program {

/// The sizes and attributes of one op: every kind there is, each in its own struct under
/// program/op/. A kind declares its operands, its cost and its workspace; ops/ has its kernels,
/// model/ emits it.
using OpSpec = std::variant<
    EmbeddingLookup, EmbeddingGradient, PositionDropout, PositionGradient, LayerNorm,
    LayerNormOutput, LayerNormBackward, LayerNormGradient, Product, ProductInputGradient,
    ProductWeightGradient, BiasGradient, BiasGelu, BiasGeluBackward, BiasDropoutAdd,
    DropoutBackward, AddInto, Copy, Attention, AttentionBackward, AttentionDecode, AttentionScores,
    AttentionScoresBackward, ScaleMaskSoftmax, ScaleMaskSoftmaxBackward, AttentionContext,
    AttentionContextBackward, LogitMaximum, LogitSum, CrossEntropy, LossTotal, SquareSums,
    ClipFactor, AdamW, AllReduceStart, AllReduceWait, AllGatherStart, AllGatherWait>;

inline constexpr size_t kOpKinds = std::variant_size_v<OpSpec>;

[[nodiscard]] std::string_view name_of(const OpSpec& spec);
[[nodiscard]] std::vector<Operand> operands_of(const OpSpec& spec);
[[nodiscard]] Cost cost_of(const OpSpec& spec);
[[nodiscard]] int64_t workspace_of(const OpSpec& spec, const BackendProfile& profile);

/// Whether ranks exchange something: a communicator runs the op, and devices have no kernel for it.
/// Collectives stand at the end of the list of kinds.
[[nodiscard]] inline bool is_collective(size_t kind) {
  return kind >= OpSpec(AllReduceStart{}).index();
}
[[nodiscard]] inline bool is_collective(const OpSpec& spec) {
  return is_collective(spec.index());
}
/// Whether behind the op its buffer belongs to the exchange, until the wait for it.
[[nodiscard]] inline bool starts_exchange(const OpSpec& spec) {
  return std::holds_alternative<AllReduceStart>(spec) ||
         std::holds_alternative<AllGatherStart>(spec);
}
/// Bytes that this rank sends by the op.
[[nodiscard]] double wire_bytes_of(const OpSpec& spec);

/// Which half of the backward an op belongs to: input gradient (on the way to the previous stage)
/// or weight gradient. Forward ops have none.
enum class Half : uint8_t { none, input_gradient, weight_gradient };

/// One op of a block: its sizes, and for each operand the number of the block's value.
struct Op {
  OpSpec spec;
  std::vector<int> values;
  Half half = Half::none;
};

}  // namespace trireme::program
