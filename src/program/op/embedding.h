#pragma once
#include "program/operand.h"

namespace trireme::program {

/// y[i] = table[token[i] - first_row], zero for tokens of other tensor ranks' rows. Vocab-parallel;
/// an all-reduce follows.
///   tokens [s b] ids in [0, V)   table [rows, h]   y [s b, h]
struct EmbeddingLookup {
  static constexpr std::string_view kName = "embedding_lookup";
  enum { kTokens, kTable, kY };
  int64_t tokens = 0;     ///< s b
  int64_t hidden = 0;     ///< h
  int64_t rows = 0;       ///< of this rank's table, padding included
  int64_t first_row = 0;  ///< global id of row 0

  [[nodiscard]] std::vector<Operand> operands() const {
    return {{"tokens", Access::read, DType::i32, tokens},
            {"table", Access::read, DType::f32, rows * hidden},
            {"y", Access::write, DType::f32, tokens * hidden}};
  }
  [[nodiscard]] Cost cost() const {
    return {.bytes = static_cast<double>(tokens) * (4 + 8 * static_cast<double>(hidden))};
  }
  [[nodiscard]] int64_t workspace_bytes(const BackendProfile&) const { return 0; }
};

/// dtable[token[i] - first_row] += dy[i], in ascending order of i; rows that no token names become
/// (or stay) zero.
struct EmbeddingGradient {
  static constexpr std::string_view kName = "embedding_gradient";
  enum { kTokens, kDy, kDtable };
  int64_t tokens = 0;
  int64_t hidden = 0;
  int64_t rows = 0;
  int64_t first_row = 0;

  [[nodiscard]] std::vector<Operand> operands() const {
    return {{"tokens", Access::read, DType::i32, tokens},
            {"dy", Access::read, DType::f32, tokens * hidden},
            {"dtable", Access::add, DType::f32, rows * hidden}};
  }
  [[nodiscard]] Cost cost() const {
    const double elements = static_cast<double>(tokens) * static_cast<double>(hidden);
    return {.flops = elements, .bytes = 12 * elements + 4 * static_cast<double>(tokens)};
  }
  [[nodiscard]] int64_t workspace_bytes(const BackendProfile&) const { return 0; }
};

/// y = dropout(x + table[position]): learned positions, and the dropout of the embedding sum.
///   x, y [s, b, h]   positions [s, b]   table [S, h]   samples [b]   seed [1]
struct PositionDropout {
  static constexpr std::string_view kName = "position_dropout";
  enum { kX, kPositions, kTable, kSamples, kSeed, kY };
  int64_t length = 0;     ///< s
  int64_t sequences = 0;  ///< b
  int64_t hidden = 0;     ///< h
  int64_t rows = 0;       ///< S, max_position_embeddings
  Dropout dropout = {};

  [[nodiscard]] std::vector<Operand> operands() const {
    const int64_t elements = length * sequences * hidden;
    return {{"x", Access::read, DType::f32, elements},
            {"positions", Access::read, DType::i32, length * sequences},
            {"table", Access::read, DType::f32, rows * hidden},
            {"samples", Access::read, DType::i64, sequences},
            {"seed", Access::read, DType::i32, 1},
            {"y", Access::write, DType::f32, elements}};
  }
  [[nodiscard]] Cost cost() const {
    const double elements = static_cast<double>(length * sequences * hidden);
    return {.flops = 2 * elements, .bytes = 12 * elements};
  }
  [[nodiscard]] int64_t workspace_bytes(const BackendProfile&) const { return 0; }
};

/// dtable[position[i]] += dx[i], in ascending order of i.
///   positions [s, b]   dx [s, b, h], behind the dropout   dtable [S, h]
struct PositionGradient {
  static constexpr std::string_view kName = "position_gradient";
  enum { kPositions, kDx, kDtable };
  int64_t tokens = 0;
  int64_t hidden = 0;
  int64_t rows = 0;

  [[nodiscard]] std::vector<Operand> operands() const {
    return {{"positions", Access::read, DType::i32, tokens},
            {"dx", Access::read, DType::f32, tokens * hidden},
            {"dtable", Access::add, DType::f32, rows * hidden}};
  }
  [[nodiscard]] Cost cost() const {
    const double elements = static_cast<double>(tokens * hidden);
    return {.flops = elements, .bytes = 12 * elements};
  }
  [[nodiscard]] int64_t workspace_bytes(const BackendProfile&) const { return 0; }
};

}  // namespace trireme::program
