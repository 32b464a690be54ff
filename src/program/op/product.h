#pragma once
#include "program/op/layer_norm.h"
#include "program/operand.h"

namespace trireme::program {

/// The three matrix products of a linear layer y = x w^T + bias. Weights are stored (out, in), as
/// Megatron-LM does. Threads share a product by output tiles that depend on the sizes alone, never
/// along the inner dimension.
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
  [[nodiscard]] int64_t workspace_bytes(const BackendProfile&) const { return 0; }
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
  [[nodiscard]] int64_t workspace_bytes(const BackendProfile&) const { return 0; }
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
  [[nodiscard]] int64_t workspace_bytes(const BackendProfile&) const { return 0; }
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
