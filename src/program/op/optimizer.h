#pragma once
#include <span>

#include "program/operand.h"

namespace trireme::program {

/// Elements that one partial sum of the gradient norm covers. Part of the arithmetic; optimizer
/// shards align to it.
inline constexpr int64_t kNormBlock = 65536;

[[nodiscard]] constexpr int64_t norm_blocks(int64_t elements) {
  return (elements + kNormBlock - 1) / kNormBlock;
}

/// squares[first_block + j] = sum of the squares of the gradient's j-th block of kNormBlock
/// elements, in double.
///   gradient [elements]   squares [blocks], of all tensors in tensor-table order
struct SquareSums {
  static constexpr std::string_view kName = "square_sums";
  enum { kGradient, kSquares };
  int64_t elements = 0;
  int64_t first_block = 0;
  int64_t blocks = 0;  ///< of the whole array

  [[nodiscard]] std::vector<Operand> operands() const {
    return {{"gradient", Access::read, DType::f32, elements},
            {"squares", Access::part, DType::f64, blocks}};
  }
  [[nodiscard]] Cost cost() const {
    return {.flops = 2 * static_cast<double>(elements), .bytes = 4 * static_cast<double>(elements)};
  }
  [[nodiscard]] int64_t workspace_bytes(const BackendProfile&) const { return 0; }
};

/// The factor of a step that is not taken: no gradient is scaled by a negative number.
inline constexpr float kSkipStep = -1;

/// A run of the array of squares.
struct SquareRun {
  int64_t first = 0;
  int64_t blocks = 0;
};

/// norm = sqrt(sum of squares, in order); factor = min(1, clip / (norm + 1e-6)), 1 where clip is 0
/// (off), kSkipStep where the norm is not finite. The order is that of the tensor table, also where
/// the squares lie as they were gathered: rank by rank.
///   squares [blocks]   norm [1], f64   factor [1], f32
struct ClipFactor {
  static constexpr std::string_view kName = "clip_factor";
  enum { kSquares, kNorm, kFactor };
  int64_t blocks = 0;
  double clip = 1;
  std::span<const SquareRun> order = {};  ///< of the sum, the block's; empty: as they lie

  /// The sum in order.
  [[nodiscard]] double sum(const double* squares) const {
    double sum = 0;
    const auto add = [&](const SquareRun& run) {
      for (int64_t i = run.first; i < run.first + run.blocks; ++i) sum += squares[i];
    };
    if (order.empty()) add({0, blocks});
    for (const SquareRun& run : order) add(run);
    return sum;
  }

  [[nodiscard]] std::vector<Operand> operands() const {
    return {{"squares", Access::read, DType::f64, blocks},
            {"norm", Access::write, DType::f64, 1},
            {"factor", Access::write, DType::f32, 1}};
  }
  [[nodiscard]] Cost cost() const {
    return {.flops = static_cast<double>(blocks), .bytes = bytes_once(operands())};
  }
  [[nodiscard]] int64_t workspace_bytes(const BackendProfile&) const { return 0; }
};

/// Decoupled weight decay Adam in one pass over parameter, gradient and both moments (Loshchilov
/// and Hutter 2019):
///   g = gradient factor;  m = b1 m + (1-b1) g;  v = b2 v + (1-b2) g^2
///   parameter -= rate ((m / (1-b1^k)) / (sqrt(v / (1-b2^k)) + eps) + decay parameter)
/// Nothing changes where the factor is kSkipStep.
///   parameter, gradient, m, v [elements]   factor, rate [1]   k = adam_step [1], counts from 1
struct AdamW {
  static constexpr std::string_view kName = "adamw";
  enum { kParameter, kGradient, kM, kV, kFactor, kRate, kStep };
  int64_t elements = 0;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double decay = 0;

  [[nodiscard]] std::vector<Operand> operands() const {
    return {{"parameter", Access::update, DType::f32, elements},
            {"gradient", Access::read, DType::f32, elements},
            {"m", Access::update, DType::f32, elements},
            {"v", Access::update, DType::f32, elements},
            {"factor", Access::read, DType::f32, 1},
            {"rate", Access::read, DType::f32, 1},
            {"adam_step", Access::read, DType::i64, 1}};
  }
  [[nodiscard]] Cost cost() const {
    return {.flops = 14 * static_cast<double>(elements), .bytes = bytes_once(operands())};
  }
  [[nodiscard]] int64_t workspace_bytes(const BackendProfile&) const { return 0; }
};

}  // namespace trireme::program
