// The model's shape, its layers, its positions.

#include "config/megatron/sections.h"

namespace trireme::config::megatron {
namespace {

constexpr const char* kGelu = "the activation of the MLP is GELU";
constexpr const char* kPlainAttention = "every layer has causal attention without a window";
constexpr const char* kLearned = "positions are learned embeddings";
constexpr const char* kDense = "the model is a decoder of like layers";

}  // namespace

Section model_section() {
  Section s = {.title = "Model"};
  same(s, {"num-layers", "hidden-size", "num-attention-heads", "ffn-hidden-size", "seq-length",
           "max-position-embeddings", "make-vocab-size-divisible-by", "hidden-dropout",
           "attention-dropout", "norm-epsilon", "init-method-std",
           "untie-embeddings-and-output-weights"});
  same(s, {"encoder-num-layers", "encoder-seq-length", "layernorm-epsilon"});
  refused(s, Takes::one, {"kv-channels"}, "a head has hidden-size / num-attention-heads channels",
          "leave it out where it is that number");
  refused(s, Takes::nothing, {"group-query-attention"}, "every head has keys and values of its own",
          kLeaveOut);
  refused(s, Takes::one, {"num-query-groups"}, "every head has keys and values of its own",
          kLeaveOut);
  always_at(s, "normalization", {"LayerNorm"}, "layers are normalised by LayerNorm");
  refused(s, Takes::nothing, {"swiglu", "squared-relu", "quick-geglu", "geglu"}, kGelu, kLeaveOut);
  refused(s, Takes::one, {"activation-func-clamp-value", "glu-linear-offset"}, kGelu, kLeaveOut);
  always(s, {"openai-gelu"}, "the GELU is GPT-2's tanh form");
  always(s, {"bias-gelu-fusion"}, "the GELU is GPT-2's tanh form, as Megatron-LM's fused one");
  refused(s, Takes::nothing, {"no-bias-gelu-fusion"},
          "it changes Megatron-LM's GELU to the exact form; here it is GPT-2's tanh form",
          "leave it out; the two differ by less than 0.001");
  refused(s, Takes::nothing, {"disable-bias-linear"}, "linear layers have biases", kLeaveOut);
  always(s, {"add-qkv-bias"}, "linear layers have biases");
  refused(s, Takes::nothing, {"apply-layernorm-1p"}, "LayerNorm's weights are stored as they are",
          kLeaveOut);
  refused(s, Takes::nothing,
          {"apply-residual-connection-post-layernorm", "qk-layernorm", "qk-l2-norm"},
          "the residual goes around LayerNorm, and only layers have one", kLeaveOut);
  always_at(s, "softmax-type", {"vanilla"}, kPlainAttention);
  refused(s, Takes::one, {"window-size", "window-attn-skip-freq"}, kPlainAttention, kLeaveOut);
  refused(s, Takes::nothing, {"init-method-xavier-uniform"},
          "initial weights are normal, with init-method-std", "use --init-method-std");
  refused(s, Takes::one, {"embedding-init-method-std"},
          "embeddings start as the other weights do, with init-method-std", kLeaveOut);
  refused(s, Takes::one, {"decoder-num-layers", "decoder-seq-length", "retriever-seq-length"},
          kDense, "use --num-layers and --seq-length");
  refused(s, Takes::nothing, {"multi-latent-attention"}, kDense, kLeaveOut);
  refused(s, Takes::one,
          {"mtp-num-layers", "mtp-loss-scaling-factor", "q-lora-rank", "kv-lora-rank",
           "qk-head-dim", "qk-pos-emb-head-dim", "v-head-dim", "hybrid-attention-ratio",
           "hybrid-mlp-ratio", "hybrid-override-pattern", "heterogeneous-layers-config-path"},
          kDense, kLeaveOut);
  refused(s, Takes::nothing, {"is-hybrid-model"}, kDense, kLeaveOut);
  refused(s, Takes::several, {"spec"}, "layers are written in src/model/, not chosen at run time",
          kLeaveOut);
  return s;
}

Section positions_section() {
  Section s = {.title = "Positions"};
  always_at(s, "position-embedding-type", {"learned_absolute"}, kLearned);
  refused(s, Takes::nothing,
          {"use-rotary-position-embeddings", "rotary-interleaved", "use-rope-scaling",
           "no-position-embedding"},
          kLearned, kLeaveOut);
  refused(s, Takes::one,
          {"rotary-base", "rotary-percent", "rotary-seq-len-interpolation-factor",
           "rotary-scaling-factor", "rope-scaling-factor", "rope-type", "no-rope-freq",
           "relative-attention-num-buckets", "relative-attention-max-distance", "mscale",
           "mscale-all-dim"},
          kLearned, kLeaveOut);
  refused(s, Takes::several, {"mrope-section"}, kLearned, kLeaveOut);
  always(s, {"no-rope-fusion"}, "positions are learned embeddings, there is no rotation to fuse");
  return s;
}

}  // namespace trireme::config::megatron
