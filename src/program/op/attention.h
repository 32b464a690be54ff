#pragma once
#include "program/operand.h"

namespace trireme::program {

/// Sizes shared by causal self-attention's forward and backward over this rank's heads.
///
/// qkv packs, per head, q then k then v: [s, b, heads, 3, head_dim] (Megatron-LM's order; a
/// column-parallel cut takes whole heads). Query i attends to keys segment_start[i] .. i: causal,
/// and within its own document where documents are separated: 0 <= segment_start[i] <= i. Dropout
/// acts on the probabilities; its element is row-major (head, query, key), heads counted over all
/// ranks, rows of random_row(length) keys.
struct AttentionSizes {
  int64_t length = 0;      ///< s
  int64_t sequences = 0;   ///< b
  int64_t heads = 0;       ///< of this rank, a / t
  int64_t first_head = 0;  ///< global number of this rank's first head
  int64_t head_dim = 0;
  Dropout dropout = {};

  [[nodiscard]] int64_t context_elements() const { return length * sequences * heads * head_dim; }
  [[nodiscard]] int64_t rows() const { return length * sequences * heads; }
  /// FLOPs of one s x s product over all heads, without the causal half.
  [[nodiscard]] double square_product_flops() const {
    return 2.0 * static_cast<double>(rows()) * static_cast<double>(length) *
           static_cast<double>(head_dim);
  }
  /// Share of the s x s scores at or below the diagonal.
  [[nodiscard]] double causal_share() const {
    return (static_cast<double>(length) + 1) / (2 * static_cast<double>(length));
  }
};

/// context = dropout(softmax(q k^T / sqrt(head_dim))) v; keeps one number per row for backward,
/// never s x s.
///   qkv [s, b, heads, 3, head_dim]   segment_starts [s, b]   samples [b]   seed [1]
///   context [s, b, heads, head_dim]   lse [b, heads, s], the logarithm of each row's sum of
///   exponentials of scaled scores (before dropout)
/// Source: Dao et al. 2022 for the row-wise streaming softmax.
struct Attention : AttentionSizes {
  static constexpr std::string_view kName = "attention";
  enum { kQkv, kSegmentStarts, kSamples, kSeed, kContext, kLse };

  [[nodiscard]] std::vector<Operand> operands() const {
    return {{"qkv", Access::read, DType::f32, 3 * context_elements()},
            {"segment_starts", Access::read, DType::i32, length * sequences},
            {"samples", Access::read, DType::i64, sequences},
            {"seed", Access::read, DType::i32, 1},
            {"context", Access::write, DType::f32, context_elements()},
            {"lse", Access::write, DType::f32, rows()}};
  }
  [[nodiscard]] Cost cost() const {
    const double nominal = 2 * square_product_flops();
    return {.flops = nominal * causal_share(),
            .nominal_flops = nominal,
            .bytes = bytes_once(operands())};
  }
  [[nodiscard]] int64_t workspace_bytes(const BackendProfile& profile) const;
};

/// dqkv from dcontext; scores and probabilities are computed again from qkv and lse.
struct AttentionBackward : AttentionSizes {
  static constexpr std::string_view kName = "attention_backward";
  enum { kDcontext, kQkv, kContext, kLse, kSegmentStarts, kSamples, kSeed, kDqkv };

  [[nodiscard]] std::vector<Operand> operands() const {
    return {{"dcontext", Access::read, DType::f32, context_elements()},
            {"qkv", Access::read, DType::f32, 3 * context_elements()},
            {"context", Access::read, DType::f32, context_elements()},
            {"lse", Access::read, DType::f32, rows()},
            {"segment_starts", Access::read, DType::i32, length * sequences},
            {"samples", Access::read, DType::i64, sequences},
            {"seed", Access::read, DType::i32, 1},
            {"dqkv", Access::write, DType::f32, 3 * context_elements()}};
  }
  [[nodiscard]] Cost cost() const {
    // Executed: scores, dprobabilities, dq, dk, dv. Nominal: twice the forward, as the paper
    // counts.
    return {.flops = 5 * square_product_flops() * causal_share(),
            .nominal_flops = 4 * square_product_flops(),
            .bytes = bytes_once(operands())};
  }
  /// Per thread: k in two orders, v, dk and dv of a head; of a tile of queries q, dcontext, dq,
  /// probabilities and score gradients.
  [[nodiscard]] int64_t thread_workspace_bytes() const;
  [[nodiscard]] int64_t workspace_bytes(const BackendProfile& profile) const;
};

/// Queries that one tile of the attention kernels covers: a thread keeps a tile's scores against
/// all keys, never s x s.
inline constexpr int64_t kAttentionTile = 48;

/// Extents as the attention kernels keep a head's copies: keys in whole panels, a head's vectors in
/// whole vectors of the widest machine.
[[nodiscard]] constexpr int64_t attention_keys(int64_t length) {
  return (length + 63) / 64 * 64;
}
[[nodiscard]] constexpr int64_t attention_width(int64_t head_dim) {
  return (head_dim + 15) / 16 * 16;
}

/// Per thread: k and v of a head; of a tile of queries q, context and scores.
inline int64_t Attention::workspace_bytes(const BackendProfile& profile) const {
  const int64_t keys = attention_keys(length);
  const int64_t width = attention_width(head_dim);
  return 4 * profile.threads * (keys * 2 * width + kAttentionTile * (2 * width + keys));
}
inline int64_t AttentionBackward::thread_workspace_bytes() const {
  const int64_t keys = attention_keys(length);
  const int64_t width = attention_width(head_dim);
  return 4 * (keys * 5 * width + kAttentionTile * (3 * width + 2 * keys));
}
/// And a counter per head, in whole cache lines.
inline int64_t AttentionBackward::workspace_bytes(const BackendProfile& profile) const {
  return profile.threads * thread_workspace_bytes() + (4 * sequences * heads + 63) / 64 * 64;
}

/// New tokens against key/value caches, one row each, in any mixture: many rows of a prompt, one
/// row of each of many answers. Row i belongs to the cache places[i] (-1: to none, its context is
/// zero) at positions[i], where no other row of the call is. First every row writes its key and
/// value there, then each attends to 0 .. positions[i].
///   qkv [rows, heads, 3, head_dim]   places, positions [rows]
///   keys, values [places, heads, capacity, head_dim]   context [rows, heads, head_dim]
/// A row's context depends on its own q and on its cache alone, to the bit.
struct AttentionDecode {
  static constexpr std::string_view kName = "attention_decode";
  enum { kQkv, kPlaces, kPositions, kKeys, kValues, kContext };
  int64_t rows = 0;
  int64_t places = 0;  ///< caches
  int64_t heads = 0;
  int64_t head_dim = 0;
  int64_t capacity = 0;  ///< tokens of a cache

  [[nodiscard]] std::vector<Operand> operands() const {
    const int64_t elements = rows * heads * head_dim;
    const int64_t cached = places * heads * capacity * head_dim;
    return {{"qkv", Access::read, DType::f32, 3 * elements},
            {"places", Access::read, DType::i32, rows},
            {"positions", Access::read, DType::i32, rows},
            {"keys", Access::update, DType::f32, cached},
            {"values", Access::update, DType::f32, cached},
            {"context", Access::write, DType::f32, elements}};
  }
  /// Of full caches.
  [[nodiscard]] Cost cost() const {
    const double flops = 4.0 * static_cast<double>(rows * heads * head_dim * capacity);
    return {.flops = flops, .nominal_flops = flops, .bytes = bytes_once(operands()) / 2};
  }
  [[nodiscard]] int64_t workspace_bytes(const BackendProfile& profile) const {
    return 4 * profile.threads * capacity;
  }
};

}  // namespace trireme::program
