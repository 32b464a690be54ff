#include "config/groups/model.h"

#include "core/format.h"
#include "core/nearest_values.h"

namespace trireme::config {
namespace {

// Far above any model; keeps products of three sizes within 64 bits nearly everywhere.
constexpr int64_t kLargestSize = 1 << 20;
constexpr Range kSize = between(1, kLargestSize);

}  // namespace

const Group& ModelOptions::group() {
  using O = ModelOptions;
  static const Group table = {
      "Model",
      "shape and initial weights of the GPT",
      {
          field(&O::num_layers, {.name = "num-layers",
                                 .aliases = {"encoder-num-layers"},
                                 .help = "transformer layers, l",
                                 .range = kSize,
                                 .required = true}),
          field(&O::hidden_size, {.name = "hidden-size",
                                  .help = "width of the residual stream, h",
                                  .range = kSize,
                                  .required = true}),
          field(&O::num_attention_heads, {.name = "num-attention-heads",
                                          .help = "attention heads, a; divides the hidden size",
                                          .range = kSize,
                                          .required = true}),
          field(&O::ffn_hidden_size, {.name = "ffn-hidden-size",
                                      .help = "inner width of the MLP",
                                      .otherwise = "4 x hidden-size",
                                      .range = kSize}),
          field(&O::seq_length, {.name = "seq-length",
                                 .aliases = {"encoder-seq-length"},
                                 .help = "length of a training sequence, s",
                                 .unit = "tokens",
                                 .range = kSize,
                                 .required = true}),
          field(&O::max_position_embeddings, {.name = "max-position-embeddings",
                                              .help = "positions that the model can tell apart",
                                              .unit = "tokens",
                                              .otherwise = "seq-length",
                                              .range = kSize}),
          field(&O::vocab_size, {.name = "vocab-size",
                                 .help = "vocabulary, V",
                                 .unit = "tokens",
                                 .otherwise = "the tokenizer's",
                                 .range = between(1, 2147483647)}),
          field(&O::make_vocab_size_divisible_by,
                {.name = "make-vocab-size-divisible-by",
                 .help = "rows that each tensor-parallel rank stores are a multiple of this; "
                         "padded rows stay zero and change no result",
                 .unit = "tokens",
                 .range = kSize}),
          field(&O::hidden_dropout,
                {.name = "hidden-dropout",
                 .help = "dropout of the embedding and of what attention and MLP add",
                 .unit = "probability",
                 .range = from_to_below(0, 1)}),
          field(&O::attention_dropout, {.name = "attention-dropout",
                                        .help = "dropout of the attention probabilities",
                                        .unit = "probability",
                                        .range = from_to_below(0, 1)}),
          field(&O::norm_epsilon, {.name = "norm-epsilon",
                                   .aliases = {"layernorm-epsilon"},
                                   .help = "added to the variance in LayerNorm",
                                   .range = above(0)}),
          field(&O::init_method_std,
                {.name = "init-method-std",
                 .help = "standard deviation of the initial weights; over sqrt(2 num-layers) for "
                         "those that end in the residual",
                 .range = at_least(0)}),
          field(
              &O::untie_embeddings_and_output_weights,
              {.name = "untie-embeddings-and-output-weights",
               .help =
                   "compute the logits with a weight of their own rather than the word embedding"}),
          field(&O::attention_backend,
                {.name = "attention-backend",
                 .help = "auto, flash, fused: backward computes the scores again, memory grows "
                         "with s; unfused, local: scores, softmax and context in steps, whose s x "
                         "s probabilities are stored (the 5 a s / h of the paper's formula); "
                         "losses agree up to rounding",
                 .words = {"auto", "flash", "fused", "unfused", "local"}}),
      }};
  return table;
}

std::optional<Conflict> ModelOptions::validate() const {
  if (hidden_size % num_attention_heads != 0) {
    return Conflict{.names = {"hidden-size", "num-attention-heads"},
                    .what = format("hidden-size {} is not a multiple of num-attention-heads {}",
                                   hidden_size, num_attention_heads),
                    .rule = "each head takes an equal part",
                    .remedy = format("use hidden-size {}",
                                     nearest_multiples(hidden_size, num_attention_heads))};
  }
  if (positions() < seq_length) {
    return Conflict{.names = {"max-position-embeddings", "seq-length"},
                    .what = format("max-position-embeddings {} is below seq-length {}", positions(),
                                   seq_length),
                    .rule = "each token of a sequence has its position",
                    .remedy = format("use max-position-embeddings {} or leave it out", seq_length)};
  }
  return std::nullopt;
}

}  // namespace trireme::config
