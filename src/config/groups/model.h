#pragma once
#include <cstdint>
#include <optional>

#include "config/group.h"

namespace trireme::config {

/// Megatron-LM's names for the ways of attention. There are two here: flash and fused never store s
/// x s, unfused and local do.
enum class AttentionBackend { automatic, flash, fused, unfused, local };

/// Shape and initialisation of the GPT. Letters of SC'21 section 3.1 beside the names.
struct ModelOptions {
  int64_t num_layers = 0;                               ///< l
  int64_t hidden_size = 0;                              ///< h
  int64_t num_attention_heads = 0;                      ///< a
  std::optional<int64_t> ffn_hidden_size = {};          ///< see ffn()
  int64_t seq_length = 0;                               ///< s
  std::optional<int64_t> max_position_embeddings = {};  ///< see positions()
  std::optional<int64_t> vocab_size = {};               ///< V; the tokenizer's when not set
  int64_t make_vocab_size_divisible_by = 128;           ///< rows of local storage only
  double hidden_dropout = 0.1;
  double attention_dropout = 0.1;
  double norm_epsilon = 1e-5;
  double init_method_std = 0.02;
  bool untie_embeddings_and_output_weights = false;
  AttentionBackend attention_backend = AttentionBackend::automatic;

  /// Whether attention stores its probabilities for backward.
  [[nodiscard]] bool stores_scores() const {
    return attention_backend == AttentionBackend::unfused ||
           attention_backend == AttentionBackend::local;
  }
  /// Width of the MLP, 4h unless set.
  [[nodiscard]] int64_t ffn() const { return ffn_hidden_size.value_or(4 * hidden_size); }
  /// Rows of the position embedding, s unless set.
  [[nodiscard]] int64_t positions() const { return max_position_embeddings.value_or(seq_length); }

  bool operator==(const ModelOptions&) const = default;
  static const Group& group();
  /// Heads divide the hidden size; positions cover a sequence.
  [[nodiscard]] std::optional<Conflict> validate() const;
};

}  // namespace trireme::config
