#pragma once
#include <concepts>

#include "ops/kernel.h"

namespace trireme::ops::reference {

// The specification in code: for every op kind but the collectives, plain scalar loops in double
// accumulation on the calling thread. The contracts are the docstrings under program/op/.
//
// T is the storage of the operands that are declared f32: float in reference_kernels(); double in
// reference_kernels_in_double(), so that finite differences of a forward tell any wrong term of its
// backward. Other dtypes are stored as declared. No workspace is used.

/// The same loops with operands that are declared f32 stored as double. For tests.
[[nodiscard]] const KernelTable& reference_kernels_in_double();

// embedding.cpp
template <std::floating_point T>
void embedding_lookup(device::Stream& stream, const program::EmbeddingLookup& op,
                      const Arguments& arguments);
template <std::floating_point T>
void embedding_gradient(device::Stream& stream, const program::EmbeddingGradient& op,
                        const Arguments& arguments);
template <std::floating_point T>
void position_dropout(device::Stream& stream, const program::PositionDropout& op,
                      const Arguments& arguments);
template <std::floating_point T>
void position_gradient(device::Stream& stream, const program::PositionGradient& op,
                       const Arguments& arguments);

// layer_norm.cpp
template <std::floating_point T>
void layer_norm(device::Stream& stream, const program::LayerNorm& op, const Arguments& arguments);
template <std::floating_point T>
void layer_norm_backward(device::Stream& stream, const program::LayerNormBackward& op,
                         const Arguments& arguments);
template <std::floating_point T>
void layer_norm_gradient(device::Stream& stream, const program::LayerNormGradient& op,
                         const Arguments& arguments);

// product.cpp
template <std::floating_point T>
void product(device::Stream& stream, const program::Product& op, const Arguments& arguments);
template <std::floating_point T>
void product_input_gradient(device::Stream& stream, const program::ProductInputGradient& op,
                            const Arguments& arguments);
template <std::floating_point T>
void product_weight_gradient(device::Stream& stream, const program::ProductWeightGradient& op,
                             const Arguments& arguments);
template <std::floating_point T>
void bias_gradient(device::Stream& stream, const program::BiasGradient& op,
                   const Arguments& arguments);

// elementwise.cpp
template <std::floating_point T>
void bias_gelu(device::Stream& stream, const program::BiasGelu& op, const Arguments& arguments);
template <std::floating_point T>
void bias_gelu_backward(device::Stream& stream, const program::BiasGeluBackward& op,
                        const Arguments& arguments);
template <std::floating_point T>
void bias_dropout_add(device::Stream& stream, const program::BiasDropoutAdd& op,
                      const Arguments& arguments);
template <std::floating_point T>
void dropout_backward(device::Stream& stream, const program::DropoutBackward& op,
                      const Arguments& arguments);
template <std::floating_point T>
void add_into(device::Stream& stream, const program::AddInto& op, const Arguments& arguments);

// attention.cpp
template <std::floating_point T>
void attention(device::Stream& stream, const program::Attention& op, const Arguments& arguments);
template <std::floating_point T>
void attention_backward(device::Stream& stream, const program::AttentionBackward& op,
                        const Arguments& arguments);
template <std::floating_point T>
void attention_decode(device::Stream& stream, const program::AttentionDecode& op,
                      const Arguments& arguments);

// cross_entropy.cpp
template <std::floating_point T>
void logit_maximum(device::Stream& stream, const program::LogitMaximum& op,
                   const Arguments& arguments);
template <std::floating_point T>
void logit_sum(device::Stream& stream, const program::LogitSum& op, const Arguments& arguments);
template <std::floating_point T>
void cross_entropy(device::Stream& stream, const program::CrossEntropy& op,
                   const Arguments& arguments);
template <std::floating_point T>
void loss_total(device::Stream& stream, const program::LossTotal& op, const Arguments& arguments);

// optimizer.cpp
template <std::floating_point T>
void square_sums(device::Stream& stream, const program::SquareSums& op, const Arguments& arguments);
template <std::floating_point T>
void clip_factor(device::Stream& stream, const program::ClipFactor& op, const Arguments& arguments);
template <std::floating_point T>
void adamw(device::Stream& stream, const program::AdamW& op, const Arguments& arguments);

}  // namespace trireme::ops::reference
