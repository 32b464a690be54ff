#include "ops/reference/reference.h"

namespace trireme::ops {
namespace {

template <std::floating_point T>
KernelTable make_table() {
  KernelTable table;
  entry<program::EmbeddingLookup, reference::embedding_lookup<T>>(table);
  entry<program::EmbeddingGradient, reference::embedding_gradient<T>>(table);
  entry<program::PositionDropout, reference::position_dropout<T>>(table);
  entry<program::PositionGradient, reference::position_gradient<T>>(table);
  entry<program::LayerNorm, reference::layer_norm<T>>(table);
  entry<program::LayerNormBackward, reference::layer_norm_backward<T>>(table);
  entry<program::LayerNormGradient, reference::layer_norm_gradient<T>>(table);
  entry<program::Product, reference::product<T>>(table);
  entry<program::ProductInputGradient, reference::product_input_gradient<T>>(table);
  entry<program::ProductWeightGradient, reference::product_weight_gradient<T>>(table);
  entry<program::BiasGradient, reference::bias_gradient<T>>(table);
  entry<program::BiasGelu, reference::bias_gelu<T>>(table);
  entry<program::BiasGeluBackward, reference::bias_gelu_backward<T>>(table);
  entry<program::BiasDropoutAdd, reference::bias_dropout_add<T>>(table);
  entry<program::DropoutBackward, reference::dropout_backward<T>>(table);
  entry<program::AddInto, reference::add_into<T>>(table);
  entry<program::Attention, reference::attention<T>>(table);
  entry<program::AttentionBackward, reference::attention_backward<T>>(table);
  entry<program::AttentionDecode, reference::attention_decode<T>>(table);
  entry<program::LogitMaximum, reference::logit_maximum<T>>(table);
  entry<program::LogitSum, reference::logit_sum<T>>(table);
  entry<program::CrossEntropy, reference::cross_entropy<T>>(table);
  entry<program::LossTotal, reference::loss_total<T>>(table);
  entry<program::SquareSums, reference::square_sums<T>>(table);
  entry<program::ClipFactor, reference::clip_factor<T>>(table);
  entry<program::AdamW, reference::adamw<T>>(table);
  return table;
}

}  // namespace

const KernelTable& reference_kernels() {
  static const KernelTable table = make_table<float>();
  return table;
}

const KernelTable& reference::reference_kernels_in_double() {
  static const KernelTable table = make_table<double>();
  return table;
}

}  // namespace trireme::ops
