#pragma once
#include "program/operand.h"

namespace trireme::program {

/// y = (x - mean) rstd gamma + beta per row; mean and rstd are kept for backward.
///   x, y [rows, columns]   gamma, beta [columns]   mean, rstd [rows]
struct LayerNorm {
  static constexpr std::string_view kName = "layer_norm";
  enum { kX, kGamma, kBeta, kY, kMean, kRstd };
  int64_t rows = 0;     ///< s b
  int64_t columns = 0;  ///< h
  double epsilon = 1e-5;

  [[nodiscard]] std::vector<Operand> operands() const {
    return {{"x", Access::read, DType::f32, rows * columns},
            {"gamma", Access::read, DType::f32, columns},
            {"beta", Access::read, DType::f32, columns},
            {"y", Access::write, DType::f32, rows * columns},
            {"mean", Access::write, DType::f32, rows},
            {"rstd", Access::write, DType::f32, rows}};
  }
  [[nodiscard]] Cost cost() const {
    return {.flops = 8 * static_cast<double>(rows * columns), .bytes = bytes_once(operands())};
  }
  [[nodiscard]] int64_t workspace_bytes(const BackendProfile&) const { return 0; }
};

/// LayerNorm's y again, in the same bits, from its input and the kept mean and rstd: backward needs
/// it and forward need not save it.
///   x, y [rows, columns]   gamma, beta [columns]   mean, rstd [rows]
struct LayerNormOutput {
  static constexpr std::string_view kName = "layer_norm_output";
  enum { kX, kGamma, kBeta, kMean, kRstd, kY };
  int64_t rows = 0;
  int64_t columns = 0;

  [[nodiscard]] std::vector<Operand> operands() const {
    return {{"x", Access::read, DType::f32, rows * columns},
            {"gamma", Access::read, DType::f32, columns},
            {"beta", Access::read, DType::f32, columns},
            {"mean", Access::read, DType::f32, rows},
            {"rstd", Access::read, DType::f32, rows},
            {"y", Access::write, DType::f32, rows * columns}};
  }
  [[nodiscard]] Cost cost() const {
    return {.flops = 4 * static_cast<double>(rows * columns), .bytes = bytes_once(operands())};
  }
  [[nodiscard]] int64_t workspace_bytes(const BackendProfile&) const { return 0; }
};

/// dx = dresidual + the gradient through the norm: the two ways by which x reaches the loss, added
/// here.
///   dy, x, dresidual, dx [rows, columns]; dx may be dresidual's memory
struct LayerNormBackward {
  static constexpr std::string_view kName = "layer_norm_backward";
  enum { kDy, kX, kGamma, kMean, kRstd, kDresidual, kDx };
  int64_t rows = 0;
  int64_t columns = 0;
  bool residual = true;  ///< false: dresidual is not an operand's worth of data and is not added
                         ///< (the final norm)

  [[nodiscard]] std::vector<Operand> operands() const {
    return {{"dy", Access::read, DType::f32, rows * columns},
            {"x", Access::read, DType::f32, rows * columns},
            {"gamma", Access::read, DType::f32, columns},
            {"mean", Access::read, DType::f32, rows},
            {"rstd", Access::read, DType::f32, rows},
            {"dresidual", Access::read, DType::f32, residual ? rows * columns : 0},
            {"dx", Access::write, DType::f32, rows * columns}};
  }
  [[nodiscard]] Cost cost() const {
    return {.flops = 12 * static_cast<double>(rows * columns), .bytes = bytes_once(operands())};
  }
  [[nodiscard]] int64_t workspace_bytes(const BackendProfile&) const { return 0; }
};

/// dgamma += sum over rows of dy (x - mean) rstd; dbeta += sum over rows of dy. Column sums in
/// fixed blocks of rows.
struct LayerNormGradient {
  static constexpr std::string_view kName = "layer_norm_gradient";
  enum { kDy, kX, kMean, kRstd, kDgamma, kDbeta };
  int64_t rows = 0;
  int64_t columns = 0;

  [[nodiscard]] std::vector<Operand> operands() const {
    return {{"dy", Access::read, DType::f32, rows * columns},
            {"x", Access::read, DType::f32, rows * columns},
            {"mean", Access::read, DType::f32, rows},
            {"rstd", Access::read, DType::f32, rows},
            {"dgamma", Access::add, DType::f32, columns},
            {"dbeta", Access::add, DType::f32, columns}};
  }
  [[nodiscard]] Cost cost() const {
    return {.flops = 5 * static_cast<double>(rows * columns), .bytes = bytes_once(operands())};
  }
  /// Partial sums of both gradients, one row of each per block of rows.
  [[nodiscard]] int64_t workspace_bytes(const BackendProfile&) const;
};

/// Rows that one partial column sum covers. Part of the arithmetic: it fixes the order of the sums.
inline constexpr int64_t kColumnSumRows = 64;

/// Bytes of the partial sums of a column sum over rows x columns.
[[nodiscard]] constexpr int64_t column_sum_bytes(int64_t rows, int64_t columns) {
  return (rows + kColumnSumRows - 1) / kColumnSumRows * columns * 4;
}

inline int64_t LayerNormGradient::workspace_bytes(const BackendProfile&) const {
  return 2 * column_sum_bytes(rows, columns);
}

}  // namespace trireme::program
