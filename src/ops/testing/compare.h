#pragma once
#include <string>

#include "ops/testing/case.h"
#include "ops/testing/trial.h"

namespace trireme::ops::testing {

/// How an op computes one element of an operand it writes.
struct Arithmetic {
  double roundings = 0;  ///< on the way from the inputs to the element, beside its sum; and one for
                         ///< the reference's own when it is stored. What is larger than the
                         ///< element and cancels in it counts by its size
  double terms = 0;      ///< of the sum behind it; 0 where there is none
};

/// For an operand the op writes. Nothing of it means copied, chosen, or rounded once from an exact
/// result: no backend may differ.
[[nodiscard]] Arithmetic arithmetic_of(const program::OpSpec& op, int operand);

/// The error that an element may have beside the reference's double accumulation:
///
///   u (roundings + 2.5 sqrt(terms)) max(|expected|, rms)
///
/// u is the unit roundoff of the operand's dtype (2^-24 for f32); rms is that of the operand's
/// expected elements that are not zero, for an element near zero has the errors of terms that are
/// not. 2.5 sqrt(terms): n terms of deviation 1 added one after the other in the storage type round
/// n times, each time by up to u times the sum so far; that adds up to a deviation of 0.41 u n
/// beside a result of sqrt(n), so 2.5 u sqrt(n) of the result is six deviations. Blocks, lanes and
/// FMA only make it smaller.
[[nodiscard]] double tolerance(DType dtype, Arithmetic arithmetic, double expected, double rms);

/// The element of all written operands that is worst beside what it may be.
struct Comparison {
  bool within = true;  ///< no element is out and neither outcome has violations
  double worst = 0;    ///< error over tolerance of the worst element; infinite for NaN
  std::string text;    ///< case, operand, index, both values, error, tolerance; or the violations
};

/// Holds a backend's outcome against the reference's.
[[nodiscard]] Comparison compare(const Case& c, const Outcome& expected, const Outcome& actual);

/// Holds two outcomes of one backend against each other, bit by bit.
[[nodiscard]] Comparison compare_bits(const Case& c, const Outcome& expected,
                                      const Outcome& actual);

}  // namespace trireme::ops::testing
