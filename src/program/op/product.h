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

/// Rows of a left factor or columns of a right one: packed memory is a multiple of these, whatever
/// the vectors of the machine.
inline constexpr int64_t kProductPanel = 48;
/// Those that a thread packs for itself at a time, at most.
inline constexpr int64_t kProductStrip = 4 * kProductPanel;

/// Bytes of one block of terms of a strip, out of so many lines.
[[nodiscard]] constexpr int64_t product_strip_bytes(int64_t lines, int64_t terms) {
  return 4 * std::min(kProductTerms, terms) *
         std::min(kProductStrip, (lines + kProductPanel - 1) / kProductPanel * kProductPanel);
}

/// The part of a right factor [terms, columns] that all threads pack together, where they do. Does
/// not change bits.
struct ProductPiece {
  int64_t columns;
  int64_t terms;

  constexpr ProductPiece(int64_t all_columns, int64_t all_terms)
      : columns(std::min(round_up(all_columns, kProductPanel), kMostColumns)),
        terms(std::min(round_up(all_terms, kProductTerms),
                       kMostElements / columns / kProductTerms * kProductTerms)) {}
  [[nodiscard]] constexpr int64_t bytes() const { return 4 * columns * terms; }

 private:
  // A piece should stay in the cache that the cores share; fewer pieces make fewer waits.
  static constexpr int64_t kMostElements = int64_t{1} << 21;
  static constexpr int64_t kMostColumns = 64 * kProductPanel;
  static constexpr int64_t round_up(int64_t count, int64_t step) {
    return (count + step - 1) / step * step;
  }
};

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
    return profile.threads * product_strip_bytes(out, in);
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
    return profile.threads * product_strip_bytes(in, out);
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
    return profile.threads * product_strip_bytes(out, rows) + ProductPiece(in, rows).bytes();
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
