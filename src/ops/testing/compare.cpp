#include "ops/testing/compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/format.h"

namespace trireme::ops::testing {
namespace {

double unit_roundoff(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return 0x1p-24;
    case DType::bf16:
      return 0x1p-8;
    case DType::f16:
      return 0x1p-11;
    case DType::f64:
      return 0x1p-53;
    default:
      return 0;
  }
}

double count(int64_t terms) {
  return static_cast<double>(terms);
}

// One per kind that has kernels. Functions such as exp and tanh count as three roundings.

Arithmetic of(const program::EmbeddingLookup&, int) {
  return {};
}
Arithmetic of(const program::EmbeddingGradient& op, int) {
  return {.roundings = 2, .terms = count(op.tokens)};
}
Arithmetic of(const program::PositionDropout& op, int) {
  return {.roundings = op.dropout.probability > 0 ? 3.0 : 0.0};
}
Arithmetic of(const program::PositionGradient& op, int) {
  return {.roundings = 2, .terms = count(op.tokens)};
}
Arithmetic of(const program::LayerNorm& op, int operand) {
  return {.roundings = operand == op.kMean ? 2.0 : 8.0, .terms = count(op.columns)};
}
Arithmetic of(const program::LayerNormOutput&, int) {
  return {.roundings = 5};
}
Arithmetic of(const program::LayerNormBackward& op, int) {
  return {.roundings = 12, .terms = count(op.columns)};
}
Arithmetic of(const program::LayerNormGradient& op, int) {
  return {.roundings = 4, .terms = count(op.rows)};
}
Arithmetic of(const program::Product& op, int) {
  return {.roundings = 2, .terms = count(op.in)};
}
Arithmetic of(const program::ProductInputGradient& op, int) {
  return {.roundings = 2, .terms = count(op.out)};
}
Arithmetic of(const program::ProductWeightGradient& op, int) {
  return {.roundings = 2, .terms = count(op.rows)};
}
Arithmetic of(const program::BiasGradient& op, int) {
  return {.roundings = 2, .terms = count(op.rows)};
}
Arithmetic of(const program::BiasGelu&, int) {
  return {.roundings = 9};
}
Arithmetic of(const program::BiasGeluBackward&, int) {
  return {.roundings = 14};
}
Arithmetic of(const program::BiasDropoutAdd& op, int) {
  // The residual may cancel what x + bias has rounded and dropout scaled.
  return {.roundings = 2 + 2 / (1 - op.dropout.probability)};
}
Arithmetic of(const program::DropoutBackward&, int) {
  return {};
}
Arithmetic of(const program::AddInto&, int) {
  return {};
}
Arithmetic of(const program::Copy&, int) {
  return {};
}
Arithmetic of(const program::Attention& op, int) {
  return {.roundings = 8, .terms = count(op.length + op.head_dim)};
}
Arithmetic of(const program::AttentionBackward& op, int) {
  // dp and the sum of p dp, each head_dim terms and scaled by dropout, cancel where p is near 1;
  // what they have rounded stays.
  const double cancelled =
      4 * std::sqrt(static_cast<double>(op.head_dim)) / (1 - op.dropout.probability);
  return {.roundings = 16 + cancelled, .terms = count(op.length + 2 * op.head_dim)};
}
Arithmetic of(const program::AttentionDecode& op, int operand) {
  if (operand != op.kContext) return {};  // keys and values are copied
  return {.roundings = 8, .terms = count(op.capacity + op.head_dim)};
}
Arithmetic of(const program::AttentionScores& op, int) {
  return {.roundings = 2, .terms = count(op.head_dim)};
}
Arithmetic of(const program::AttentionScoresBackward& op, int) {
  return {.roundings = 2, .terms = count(op.length)};
}
Arithmetic of(const program::ScaleMaskSoftmax& op, int) {
  return {.roundings = 8, .terms = count(op.length)};
}
Arithmetic of(const program::ScaleMaskSoftmaxBackward& op, int) {
  // dp and the sum of p dp cancel where p is near 1; what dropout's scale has rounded stays.
  return {.roundings = 6 + 4 / (1 - op.dropout.probability), .terms = count(op.length)};
}
Arithmetic of(const program::AttentionContext& op, int) {
  return {.roundings = 2, .terms = count(op.length)};
}
Arithmetic of(const program::AttentionContextBackward& op, int operand) {
  return {.roundings = 2, .terms = count(operand == op.kDkept ? op.head_dim : op.length)};
}
Arithmetic of(const program::LogitMaximum&, int) {
  return {};
}
Arithmetic of(const program::LogitSum& op, int operand) {
  if (operand == op.kTarget) return {};
  return {.roundings = 5, .terms = count(op.counted)};
}
Arithmetic of(const program::CrossEntropy& op, int operand) {
  return {.roundings = operand == op.kLosses ? 5.0 : 12.0};
}
Arithmetic of(const program::LossTotal& op, int) {
  return {.roundings = 2, .terms = count(op.rows)};
}
Arithmetic of(const program::SquareSums& op, int) {
  return {.roundings = 2, .terms = count(std::min(op.elements, program::kNormBlock))};
}
Arithmetic of(const program::ClipFactor& op, int operand) {
  if (operand == op.kFactor) return {.roundings = 2};
  return {.roundings = 3, .terms = count(op.blocks)};
}
Arithmetic of(const program::AdamW&, int) {
  return {.roundings = 6};
}
// Collectives have no kernels.
Arithmetic of(const program::AllReduceStart&, int) {
  return {};
}
Arithmetic of(const program::AllReduceWait&, int) {
  return {};
}
Arithmetic of(const program::AllGatherStart&, int) {
  return {};
}
Arithmetic of(const program::AllGatherWait&, int) {
  return {};
}

// Floating-point elements of an operand as double.
std::vector<double> widened(const HostOperands& operands, int operand) {
  std::vector<double> result;
  switch (operands.declared()[static_cast<size_t>(operand)].dtype) {
    case DType::f32: {
      const auto values = operands.as<float>(operand);
      result.assign(values.begin(), values.end());
      break;
    }
    case DType::f64: {
      const auto values = operands.as<double>(operand);
      result.assign(values.begin(), values.end());
      break;
    }
    default:
      TRIREME_ASSERT(false, "no rule says how to compare operands of this dtype");
  }
  return result;
}

double rms_of_nonzero(const std::vector<double>& values) {
  double squares = 0;
  double nonzero = 0;
  for (const double value : values) {
    if (value == 0 || !std::isfinite(value)) continue;
    squares += value * value;
    nonzero += 1;
  }
  return nonzero == 0 ? 0 : std::sqrt(squares / nonzero);
}

Comparison without_violations(const Outcome& expected, const Outcome& actual) {
  Comparison result;
  for (const Outcome* outcome : {&expected, &actual}) {
    for (const std::string& violation : outcome->violations) {
      result.within = false;
      result.text += violation + "\n";
    }
  }
  return result;
}

bool is_written(const program::Operand& operand) {
  return operand.access != program::Access::read;
}

}  // namespace

Arithmetic arithmetic_of(const program::OpSpec& op, int operand) {
  return std::visit([&](const auto& spec) { return of(spec, operand); }, op);
}

double tolerance(DType dtype, Arithmetic arithmetic, double expected, double rms) {
  return unit_roundoff(dtype) * (arithmetic.roundings + 2.5 * std::sqrt(arithmetic.terms)) *
         std::max(std::abs(expected), rms);
}

Comparison compare(const Case& c, const Outcome& expected, const Outcome& actual) {
  Comparison result = without_violations(expected, actual);
  double worst = -1;
  std::string worst_text;
  for (int operand = 0; operand < expected.operands.count(); ++operand) {
    const program::Operand& declared = expected.operands.declared()[static_cast<size_t>(operand)];
    if (!is_written(declared)) continue;
    const std::vector<double> want = widened(expected.operands, operand);
    const std::vector<double> got = widened(actual.operands, operand);
    const Arithmetic arithmetic = arithmetic_of(c.op, operand);
    const double rms = rms_of_nonzero(want);
    for (size_t i = 0; i < want.size(); ++i) {
      const double error = want[i] == got[i] ? 0 : std::abs(want[i] - got[i]);
      const double allowed = tolerance(declared.dtype, arithmetic, want[i], rms);
      double ratio = error == 0 ? 0 : error / allowed;
      if (std::isnan(ratio)) ratio = std::numeric_limits<double>::infinity();
      if (ratio <= worst) continue;
      worst = ratio;
      worst_text = format(
          "{}: {}[{}] is {:.9g}, the reference says {:.9g}: error {:.3g}, {:.3g} "
          "times the tolerance of {:.3g}",
          c.name, declared.name, i, got[i], want[i], error, ratio, allowed);
    }
  }
  result.worst = std::max(worst, 0.0);
  result.within = result.within && result.worst <= 1;
  result.text += worst_text;
  return result;
}

Comparison compare_bits(const Case& c, const Outcome& expected, const Outcome& actual) {
  Comparison result = without_violations(expected, actual);
  for (int operand = 0; operand < expected.operands.count(); ++operand) {
    const program::Operand& declared = expected.operands.declared()[static_cast<size_t>(operand)];
    if (!is_written(declared)) continue;
    const std::span<const std::byte> want = expected.operands.bytes(operand);
    const std::span<const std::byte> got = actual.operands.bytes(operand);
    const auto different = std::mismatch(want.begin(), want.end(), got.begin()).first;
    if (different == want.end()) continue;
    const auto element = static_cast<size_t>((different - want.begin()) / bytes_of(declared.dtype));
    result.within = false;
    result.worst = std::numeric_limits<double>::infinity();
    result.text += format("{}: {}[{}] differs: {:.9g} and {:.9g}\n", c.name, declared.name, element,
                          widened(expected.operands, operand)[element],
                          widened(actual.operands, operand)[element]);
  }
  return result;
}

}  // namespace trireme::ops::testing
