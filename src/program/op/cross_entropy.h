#pragma once
#include "program/operand.h"

namespace trireme::program {

/// Cross entropy over logits split along the vocabulary across tensor-parallel ranks, in three
/// steps with a small all-reduce behind each of the first two. Logits never leave their rank.
/// Source: Shoeybi et al. 2019, section 3.
struct VocabSizes {
  int64_t rows = 0;       ///< s b
  int64_t columns = 0;    ///< of this rank, padding included: the row stride of the logits
  int64_t counted = 0;    ///< columns that are words; those at or past it take no part
  int64_t first_row = 0;  ///< global id of column 0
};

/// maximum[i] = the largest counted logit of row i on this rank, minus infinity where it counts
/// none (a shard of padding). An all-reduce (max) follows.
///   logits [rows, columns]   maximum [rows]
struct LogitMaximum : VocabSizes {
  static constexpr std::string_view kName = "logit_maximum";
  enum { kLogits, kMaximum };

  [[nodiscard]] std::vector<Operand> operands() const {
    return {{"logits", Access::read, DType::f32, rows * columns},
            {"maximum", Access::write, DType::f32, rows}};
  }
  [[nodiscard]] Cost cost() const {
    return {.flops = static_cast<double>(rows * counted), .bytes = bytes_once(operands())};
  }
  [[nodiscard]] int64_t workspace_bytes(const BackendProfile&) const { return 0; }
};

/// sum[i] = sum of exp(logit - maximum[i]) over this rank's words; target[i] = the label's logit
/// minus the maximum where this rank has it, else 0. An all-reduce (sum) of both follows.
///   logits [rows, columns]   labels [rows]   maximum, sum, target [rows]
struct LogitSum : VocabSizes {
  static constexpr std::string_view kName = "logit_sum";
  enum { kLogits, kLabels, kMaximum, kSum, kTarget };

  [[nodiscard]] std::vector<Operand> operands() const {
    return {{"logits", Access::read, DType::f32, rows * columns},
            {"labels", Access::read, DType::i32, rows},
            {"maximum", Access::read, DType::f32, rows},
            {"sum", Access::write, DType::f32, rows},
            {"target", Access::write, DType::f32, rows}};
  }
  [[nodiscard]] Cost cost() const {
    return {.flops = 4 * static_cast<double>(rows * counted), .bytes = bytes_once(operands())};
  }
  [[nodiscard]] int64_t workspace_bytes(const BackendProfile&) const { return 0; }
};

/// losses[i] = ln(sum[i]) - target[i], nats, equal on all tensor ranks; logits become the gradient
/// (softmax - one-hot) loss_mask[i] gradient_scale, padding columns zero.
///   logits [rows, columns]   labels, loss_mask, maximum, sum, target, losses [rows] gradient_scale
///   [1], 1/N (times the loss scale)
struct CrossEntropy : VocabSizes {
  static constexpr std::string_view kName = "cross_entropy";
  enum { kLogits, kLabels, kLossMask, kMaximum, kSum, kTarget, kGradientScale, kLosses };
  bool gradient = true;  ///< false in evaluation: logits stay as they are

  [[nodiscard]] std::vector<Operand> operands() const {
    return {{"logits", gradient ? Access::update : Access::read, DType::f32, rows * columns},
            {"labels", Access::read, DType::i32, rows},
            {"loss_mask", Access::read, DType::f32, rows},
            {"maximum", Access::read, DType::f32, rows},
            {"sum", Access::read, DType::f32, rows},
            {"target", Access::read, DType::f32, rows},
            {"gradient_scale", Access::read, DType::f32, 1},
            {"losses", Access::write, DType::f32, rows}};
  }
  [[nodiscard]] Cost cost() const {
    if (!gradient)
      return {.flops = 2 * static_cast<double>(rows), .bytes = 24 * static_cast<double>(rows)};
    return {.flops = 4 * static_cast<double>(rows * counted), .bytes = bytes_once(operands())};
  }
  [[nodiscard]] int64_t workspace_bytes(const BackendProfile&) const { return 0; }
};

/// total += sum of losses[i] loss_mask[i], in double, in ascending order of i.
///   losses, loss_mask [rows]   total [1], set to zero at the start of a step
struct LossTotal {
  static constexpr std::string_view kName = "loss_total";
  enum { kLosses, kLossMask, kTotal };
  int64_t rows = 0;

  [[nodiscard]] std::vector<Operand> operands() const {
    return {{"losses", Access::read, DType::f32, rows},
            {"loss_mask", Access::read, DType::f32, rows},
            {"total", Access::update, DType::f64, 1}};
  }
  [[nodiscard]] Cost cost() const {
    return {.flops = 2 * static_cast<double>(rows), .bytes = bytes_once(operands())};
  }
  [[nodiscard]] int64_t workspace_bytes(const BackendProfile&) const { return 0; }
};

}  // namespace trireme::program
