#pragma once
#include <algorithm>

#include "program/op/layer_norm.h"
#include "program/operand.h"

namespace trireme::program {

/// The three matrix products of a linear layer y = x w^T + bias. Weights are stored (out, in), as
/// Megatron-LM does. Threads share a product by its output, never along the inner dimension.

/// Terms whose sum is one chain of additions; the sums of such blocks are added in ascending order.
/// Part of the arithmetic.
inline constexpr int64_t kProductTerms = 384;

/// Columns of the right factor: packed memory is a multiple of these, whatever the vectors of the
/// machine.
inline constexpr int64_t kProductPanel = 48;
/// Columns that a thread packs at a time, at most: many where it has to pack the rows, too, once
/// for each such strip of columns.
[[nodiscard]] constexpr int64_t product_columns(bool rows_are_packed) {
  return (rows_are_packed ? 16 : 4) * kProductPanel;
}
/// Rows of the left factor that a thread packs at a time, or reads in place while they are in its
/// cache.
inline constexpr int64_t kProductGroup = 96;

/// Of each thread: one block of terms of the columns it packs, out of so many, and of a group of
/// rows where they are packed.
[[nodiscard]] constexpr int64_t product_workspace_bytes(int64_t columns, int64_t terms,
                                                        bool rows_are_packed) {
  const int64_t panels = (columns + kProductPanel - 1) / kProductPanel * kProductPanel;
  return 4 * std::min(kProductTerms, terms) *
         (std::min(product_columns(rows_are_packed), panels) +
          (rows_are_packed ? kProductGroup : 0));
}

namespace detail {
[[nodiscard]] inline double product_flops(int64_t rows, int64_t in, int64_t out) {
  return 2.0 * static_cast<double>(rows) * static_cast<double>(in) * static_cast<double>(out);
}
}  // namespace detail

/// y = x w^T, plus bias where a column-parallel layer has one.
///   x [rows, in]   w [out, in]   bias [out]   y [rows, out]
struct Product {
  static constexpr std::string_view kName = "product";
  enum { kX, kW, kBias, kY };
  int64_t rows = 0;
  int64_t in = 0;
  int64_t out = 0;
  bool bias = false;

  [[nodiscard]] std::vector<Operand> operands() const {
    return {{"x", Access::read, DType::f32, rows * in},
            {"w", Access::read, DType::f32, out * in},
            {"bias", Access::read, DType::f32, bias ? out : 0},
            {"y", Access::write, DType::f32, rows * out}};
  }
  [[nodiscard]] Cost cost() const {
    const double flops = detail::product_flops(rows, in, out);
    return {.flops = flops, .nominal_flops = flops, .bytes = bytes_once(operands())};
  }
  [[nodiscard]] int64_t workspace_bytes(const BackendProfile& profile) const {
    return profile.threads * product_workspace_bytes(out, in, false);
  }
};

/// dx = dy w, the input gradient.
///   dy [rows, out]   w [out, in]   dx [rows, in]
struct ProductInputGradient {
  static constexpr std::string_view kName = "product_dx";
  enum { kDy, kW, kDx };
  int64_t rows = 0;
  int64_t in = 0;
  int64_t out = 0;

  [[nodiscard]] std::vector<Operand> operands() const {
    return {{"dy", Access::read, DType::f32, rows * out},
            {"w", Access::read, DType::f32, out * in},
            {"dx", Access::write, DType::f32, rows * in}};
  }
  [[nodiscard]] Cost cost() const {
    const double flops = detail::product_flops(rows, in, out);
    return {.flops = flops, .nominal_flops = flops, .bytes = bytes_once(operands())};
  }
  [[nodiscard]] int64_t workspace_bytes(const BackendProfile& profile) const {
    return profile.threads * product_workspace_bytes(in, out, false);
  }
};

/// dw (+)= dy^T x, the weight gradient, in fp32.
///   dy [rows, out]   x [rows, in]   dw [out, in]
struct ProductWeightGradient {
  static constexpr std::string_view kName = "product_dw";
  enum { kDy, kX, kDw };
  int64_t rows = 0;
  int64_t in = 0;
  int64_t out = 0;

  [[nodiscard]] std::vector<Operand> operands() const {
    return {{"dy", Access::read, DType::f32, rows * out},
            {"x", Access::read, DType::f32, rows * in},
            {"dw", Access::add, DType::f32, out * in}};
  }
  [[nodiscard]] Cost cost() const {
    const double flops = detail::product_flops(rows, in, out);
    return {.flops = flops, .nominal_flops = flops, .bytes = bytes_once(operands())};
  }
  [[nodiscard]] int64_t workspace_bytes(const BackendProfile& profile) const {
    return profile.threads * product_workspace_bytes(in, rows, true);
  }
};

/// dbias (+)= column sums of dy, in fixed blocks of rows.
///   dy [rows, columns]   dbias [columns]
struct BiasGradient {
  static constexpr std::string_view kName = "bias_gradient";
  enum { kDy, kDbias };
  int64_t rows = 0;
  int64_t columns = 0;

  [[nodiscard]] std::vector<Operand> operands() const {
    return {{"dy", Access::read, DType::f32, rows * columns},
            {"dbias", Access::add, DType::f32, columns}};
  }
  [[nodiscard]] Cost cost() const {
    return {.flops = static_cast<double>(rows * columns), .bytes = bytes_once(operands())};
  }
  [[nodiscard]] int64_t workspace_bytes(const BackendProfile&) const {
    return column_sum_bytes(rows, columns);
  }
};

}  // namespace trireme::program
