#pragma once
#include <cstdint>

#include "parallel/topology.h"

namespace trireme::model {

/// What attention keeps for its backward. The model and its tensors do not depend on it.
enum class AttentionForm : uint8_t {
  recomputed,  ///< one number per row; backward computes the scores again (Attention)
  stored,      ///< s x s probabilities of each head, before and behind dropout (ScaleMaskSoftmax)
};

/// The sizes of a GPT: pre-layer-norm, learned positions, tanh GELU, biases everywhere but in the
/// head. Letters as in the paper.
struct GptShape {
  int layers = 0;          ///< l
  int64_t hidden = 0;      ///< h
  int64_t heads = 0;       ///< a
  int64_t ffn = 0;         ///< width of the MLP, 4 h unless said otherwise
  int64_t length = 0;      ///< s
  int64_t positions = 0;   ///< rows of the position table, at least s
  int64_t vocabulary = 0;  ///< V, words that exist
  int64_t vocabulary_granule =
      128;  ///< local storage of the vocabulary is rounded up to a multiple of this times t
  double hidden_dropout = 0.1;
  double attention_dropout = 0.1;
  double norm_epsilon = 1e-5;
  double init_deviation = 0.02;
  bool tied_embeddings = true;
  AttentionForm attention = AttentionForm::recomputed;

  [[nodiscard]] int64_t head_dim() const { return hidden / heads; }
  /// Rows of the vocabulary in all ranks' storage together.
  [[nodiscard]] int64_t padded_vocabulary(int tensor_ranks) const {
    const int64_t granule = vocabulary_granule * tensor_ranks;
    return (vocabulary + granule - 1) / granule * granule;
  }
  bool operator==(const GptShape&) const = default;
};

/// What runs at once: microbatch, and how many of them make a global batch.
struct BatchShape {
  int64_t sequences = 1;  ///< b, per microbatch
  int microbatches = 1;   ///< m, per data-parallel rank
  /// Tokens attend to their own document only; otherwise every segment start has to be 0.
  bool documents = true;
  bool operator==(const BatchShape&) const = default;
};

/// What decoding programs are made for: answers that grow side by side, each in its place with a
/// key/value cache of its own.
struct DecodeShape {
  int64_t capacity = 0;  ///< tokens of a place's cache; 0: no decoding
  int64_t places = 1;    ///< sequences side by side
  /// The places decode in so many groups, one behind the other, so that each stage of a pipeline
  /// has one at work. At most as many as places.
  int64_t groups = 1;
  /// Rows of the prompt programs, ascending: up to a dozen rows take the time of reading the
  /// weights once, and 96 are a group of the matrix products.
  std::vector<int64_t> prompt_rows = {16, 32, 96};

  /// Rows of the decoding program: the places of a group, the last of which may have fewer.
  [[nodiscard]] int64_t rows() const { return (places + groups - 1) / groups; }
  bool operator==(const DecodeShape&) const = default;
};

/// Throws a usage error, with rule and remedy, for sizes that cannot be: hidden not divisible by
/// heads, a sequence longer than the position table, a size that does not divide over the tensor
/// ranks, ...
void require_possible(const GptShape& shape, const BatchShape& batch,
                      const parallel::Topology& topology);

/// FLOPs of one global batch's forward and backward as the paper counts them, without
/// recomputation: 72 B s l h^2 (1 + s/(6h) + V/(12 l h)). Source: SC'21 section 5.1; only for ffn =
/// 4 h. A check on the programs' own sums.
[[nodiscard]] double paper_model_flops(const GptShape& shape, int64_t global_batch);

}  // namespace trireme::model
