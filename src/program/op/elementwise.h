#pragma once
#include "program/operand.h"

namespace trireme::program {

/// y = gelu(x + bias), the tanh form of GPT-2: 0.5 z (1 + tanh(0.79788456 (z + 0.044715 z^3))). The
/// paper's fused kernel. y may be x's memory.
///   x, y [rows, columns]   bias [columns]
struct BiasGelu {
  static constexpr std::string_view kName = "bias_gelu";
  enum { kX, kBias, kY };
  int64_t rows = 0;
  int64_t columns = 0;

  [[nodiscard]] std::vector<Operand> operands() const {
    return {{"x", Access::read, DType::f32, rows * columns},
            {"bias", Access::read, DType::f32, columns},
            {"y", Access::write, DType::f32, rows * columns}};
  }
  [[nodiscard]] Cost cost() const {
    return {.flops = 20 * static_cast<double>(rows * columns), .bytes = bytes_once(operands())};
  }
  [[nodiscard]] int64_t workspace_bytes(const BackendProfile&) const { return 0; }
};

/// dx = dy gelu'(x + bias). dx may be dy's memory.
struct BiasGeluBackward {
  static constexpr std::string_view kName = "bias_gelu_backward";
  enum { kDy, kX, kBias, kDx };
  int64_t rows = 0;
  int64_t columns = 0;

  [[nodiscard]] std::vector<Operand> operands() const {
    return {{"dy", Access::read, DType::f32, rows * columns},
            {"x", Access::read, DType::f32, rows * columns},
            {"bias", Access::read, DType::f32, columns},
            {"dx", Access::write, DType::f32, rows * columns}};
  }
  [[nodiscard]] Cost cost() const {
    return {.flops = 30 * static_cast<double>(rows * columns), .bytes = bytes_once(operands())};
  }
  [[nodiscard]] int64_t workspace_bytes(const BackendProfile&) const { return 0; }
};

/// y = residual + dropout(x + bias): behind the row-parallel product and its all-reduce, so the
/// bias is added once.
///   x, residual, y [s, b, h]   bias [h]   samples [b]   seed [1]
struct BiasDropoutAdd {
  static constexpr std::string_view kName = "bias_dropout_add";
  enum { kX, kBias, kResidual, kSamples, kSeed, kY };
  int64_t length = 0;     ///< s
  int64_t sequences = 0;  ///< b
  int64_t hidden = 0;     ///< h
  Dropout dropout = {};

  [[nodiscard]] std::vector<Operand> operands() const {
    const int64_t elements = length * sequences * hidden;
    return {{"x", Access::read, DType::f32, elements},
            {"bias", Access::read, DType::f32, hidden},
            {"residual", Access::read, DType::f32, elements},
            {"samples", Access::read, DType::i64, sequences},
            {"seed", Access::read, DType::i32, 1},
            {"y", Access::write, DType::f32, elements}};
  }
  [[nodiscard]] Cost cost() const {
    return {.flops = 3 * static_cast<double>(length * sequences * hidden),
            .bytes = bytes_once(operands())};
  }
  [[nodiscard]] int64_t workspace_bytes(const BackendProfile&) const { return 0; }
};

/// dx = dy where the forward kept the element, scaled alike; zero elsewhere. The mask is drawn
/// again, never stored.
///   dy, dx [s, b, h]   samples [b]   seed [1]
struct DropoutBackward {
  static constexpr std::string_view kName = "dropout_backward";
  enum { kDy, kSamples, kSeed, kDx };
  int64_t length = 0;
  int64_t sequences = 0;
  int64_t hidden = 0;
  Dropout dropout = {};

  [[nodiscard]] std::vector<Operand> operands() const {
    const int64_t elements = length * sequences * hidden;
    return {{"dy", Access::read, DType::f32, elements},
            {"samples", Access::read, DType::i64, sequences},
            {"seed", Access::read, DType::i32, 1},
            {"dx", Access::write, DType::f32, elements}};
  }
  [[nodiscard]] Cost cost() const {
    return {.flops = static_cast<double>(length * sequences * hidden),
            .bytes = bytes_once(operands())};
  }
  [[nodiscard]] int64_t workspace_bytes(const BackendProfile&) const { return 0; }
};

/// y += x, element by element: where two gradient accumulators of one tied tensor are added.
struct AddInto {
  static constexpr std::string_view kName = "add_into";
  enum { kX, kY };
  int64_t elements = 0;

  [[nodiscard]] std::vector<Operand> operands() const {
    return {{"x", Access::read, DType::f32, elements}, {"y", Access::update, DType::f32, elements}};
  }
  [[nodiscard]] Cost cost() const {
    return {.flops = static_cast<double>(elements), .bytes = bytes_once(operands())};
  }
  [[nodiscard]] int64_t workspace_bytes(const BackendProfile&) const { return 0; }
};

/// y = x: what a stage without layers does between what it receives and what it sends.
struct Copy {
  static constexpr std::string_view kName = "copy";
  enum { kX, kY };
  int64_t elements = 0;

  [[nodiscard]] std::vector<Operand> operands() const {
    return {{"x", Access::read, DType::f32, elements}, {"y", Access::write, DType::f32, elements}};
  }
  [[nodiscard]] Cost cost() const { return {.bytes = bytes_once(operands())}; }
  [[nodiscard]] int64_t workspace_bytes(const BackendProfile&) const { return 0; }
};

}  // namespace trireme::program
