#pragma once
#include "program/op/attention.h"

// Causal self-attention in its separate steps, scores and probabilities stored for backward: what
// the paper trains with, and what its memory formula's 5 a s / h stands for. Attention computes the
// same without storing s x s. Layouts and numbers of dropout as there (AttentionSizes).
//
// Matrices are [b, heads, s queries, s keys]. Above the diagonal they are zero: nothing is computed
// there, and zeros is what the softmax makes of it.

namespace trireme::program {

/// Sizes and costs that the steps have in common.
struct StoredAttentionSizes : AttentionSizes {
  [[nodiscard]] int64_t score_elements() const { return rows() * length; }
  /// What one s x s product over all heads costs, above the diagonal nothing.
  [[nodiscard]] Cost products(int count, double bytes) const {
    const double nominal = count * square_product_flops();
    return {.flops = nominal * causal_share(), .nominal_flops = nominal, .bytes = bytes};
  }
  /// Bytes of one of q, k, v, or of the context.
  [[nodiscard]] double vector_bytes() const {
    return static_cast<double>(context_elements() * bytes_of(DType::f32));
  }
};

/// scores = q k^T, not scaled, zero above the diagonal.
///   qkv [s, b, heads, 3, head_dim], of which q and k are read   scores [b, heads, s, s]
struct AttentionScores : StoredAttentionSizes {
  static constexpr std::string_view kName = "attention_scores";
  enum { kQkv, kScores };

  [[nodiscard]] std::vector<Operand> operands() const {
    return {{"qkv", Access::read, DType::f32, 3 * context_elements()},
            {"scores", Access::write, DType::f32, score_elements()}};
  }
  [[nodiscard]] Cost cost() const { return products(1, bytes_once(operands()) - vector_bytes()); }
  [[nodiscard]] int64_t workspace_bytes(const BackendProfile& profile) const;
};

/// dq = dscores k and dk = dscores^T q: two thirds of dqkv, v's is left as it is.
///   dscores [b, heads, s, s], zero above the diagonal   qkv, dqkv [s, b, heads, 3, head_dim]
struct AttentionScoresBackward : StoredAttentionSizes {
  static constexpr std::string_view kName = "attention_scores_backward";
  enum { kDscores, kQkv, kDqkv };

  [[nodiscard]] std::vector<Operand> operands() const {
    return {{"dscores", Access::read, DType::f32, score_elements()},
            {"qkv", Access::read, DType::f32, 3 * context_elements()},
            {"dqkv", Access::part, DType::f32, 3 * context_elements()}};
  }
  [[nodiscard]] Cost cost() const {
    return products(2, bytes_once(operands()) - 2 * vector_bytes());
  }
  [[nodiscard]] int64_t workspace_bytes(const BackendProfile& profile) const;
};

/// The paper's fused kernels for scale, mask and softmax (section 4.2), with the dropout behind
/// them: one pass over a row of scores rather than four.
///   probabilities = softmax(mask(scores / sqrt(head_dim))), zero where a query does not attend
///   kept = dropout(probabilities); not there (no elements) where nothing is dropped
/// Implicit causal masking: query i attends to keys 0 .. i. General masking, as `documents` says:
/// to keys segment_starts[i] .. i. probabilities may be scores' memory.
///   scores, probabilities, kept [b, heads, s, s]   segment_starts [s, b], where documents are
///   separated   samples [b]   seed [1]
struct ScaleMaskSoftmax : StoredAttentionSizes {
  static constexpr std::string_view kName = "scale_mask_softmax";
  enum { kScores, kSegmentStarts, kSamples, kSeed, kProbabilities, kKept };
  bool documents = false;

  [[nodiscard]] std::vector<Operand> operands() const {
    return {{"scores", Access::read, DType::f32, score_elements()},
            {"segment_starts", Access::read, DType::i32, documents ? length * sequences : 0},
            {"samples", Access::read, DType::i64, sequences},
            {"seed", Access::read, DType::i32, 1},
            {"probabilities", Access::write, DType::f32, score_elements()},
            {"kept", Access::write, DType::f32, dropout.probability > 0 ? score_elements() : 0}};
  }
  /// An exponential counts ten.
  [[nodiscard]] Cost cost() const {
    return {.flops = 14 * static_cast<double>(score_elements()) * causal_share(),
            .bytes = bytes_once(operands())};
  }
  [[nodiscard]] int64_t workspace_bytes(const BackendProfile&) const { return 0; }
};

/// dscores, the gradient of the scores before scaling, from dkept, that of the probabilities behind
/// dropout: p (dp - sum over keys p dp) / sqrt(head_dim), with dp = dkept where dropout kept the
/// element, scaled alike. The mask of dropout is drawn again. dscores may be dkept's memory.
///   dkept, probabilities, dscores [b, heads, s, s], zero above the diagonal   samples [b]   seed
///   [1]
struct ScaleMaskSoftmaxBackward : StoredAttentionSizes {
  static constexpr std::string_view kName = "scale_mask_softmax_backward";
  enum { kDkept, kProbabilities, kSamples, kSeed, kDscores };

  [[nodiscard]] std::vector<Operand> operands() const {
    return {{"dkept", Access::read, DType::f32, score_elements()},
            {"probabilities", Access::read, DType::f32, score_elements()},
            {"samples", Access::read, DType::i64, sequences},
            {"seed", Access::read, DType::i32, 1},
            {"dscores", Access::write, DType::f32, score_elements()}};
  }
  [[nodiscard]] Cost cost() const {
    return {.flops = 5 * static_cast<double>(score_elements()) * causal_share(),
            .bytes = bytes_once(operands())};
  }
  [[nodiscard]] int64_t workspace_bytes(const BackendProfile&) const { return 0; }
};

/// context = kept v.
///   kept [b, heads, s, s], zero above the diagonal   qkv [s, b, heads, 3, head_dim], of which v is
///   read   context [s, b, heads, head_dim]
struct AttentionContext : StoredAttentionSizes {
  static constexpr std::string_view kName = "attention_context";
  enum { kKept, kQkv, kContext };

  [[nodiscard]] std::vector<Operand> operands() const {
    return {{"kept", Access::read, DType::f32, score_elements()},
            {"qkv", Access::read, DType::f32, 3 * context_elements()},
            {"context", Access::write, DType::f32, context_elements()}};
  }
  [[nodiscard]] Cost cost() const {
    return products(1, bytes_once(operands()) - 2 * vector_bytes());
  }
  [[nodiscard]] int64_t workspace_bytes(const BackendProfile& profile) const;
};

/// dkept = dcontext v^T, zero above the diagonal, and dv = kept^T dcontext: one third of dqkv, the
/// others are left as they are.
///   dcontext [s, b, heads, head_dim]   kept, dkept [b, heads, s, s]   qkv, dqkv [s, b, heads, 3,
///   head_dim]
struct AttentionContextBackward : StoredAttentionSizes {
  static constexpr std::string_view kName = "attention_context_backward";
  enum { kDcontext, kKept, kQkv, kDkept, kDqkv };

  [[nodiscard]] std::vector<Operand> operands() const {
    return {{"dcontext", Access::read, DType::f32, context_elements()},
            {"kept", Access::read, DType::f32, score_elements()},
            {"qkv", Access::read, DType::f32, 3 * context_elements()},
            {"dkept", Access::write, DType::f32, score_elements()},
            {"dqkv", Access::part, DType::f32, 3 * context_elements()}};
  }
  [[nodiscard]] Cost cost() const {
    return products(2, bytes_once(operands()) - 4 * vector_bytes());
  }
  [[nodiscard]] int64_t workspace_bytes(const BackendProfile& profile) const;
};

/// Per thread: one kind of a head's vectors, and of a tile the other vectors and the scores.
[[nodiscard]] inline int64_t stored_attention_workspace(const AttentionSizes& sizes,
                                                        const BackendProfile& profile) {
  const int64_t keys = attention_keys(sizes.length);
  const int64_t width = attention_width(sizes.head_dim);
  return 4 * profile.threads * (keys * width + kAttentionTile * (width + keys));
}
inline int64_t AttentionScores::workspace_bytes(const BackendProfile& profile) const {
  return stored_attention_workspace(*this, profile);
}
inline int64_t AttentionScoresBackward::workspace_bytes(const BackendProfile& profile) const {
  return stored_attention_workspace(*this, profile);
}
inline int64_t AttentionContext::workspace_bytes(const BackendProfile& profile) const {
  return stored_attention_workspace(*this, profile);
}
inline int64_t AttentionContextBackward::workspace_bytes(const BackendProfile& profile) const {
  return stored_attention_workspace(*this, profile);
}

}  // namespace trireme::program
