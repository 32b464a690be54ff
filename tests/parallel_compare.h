#pragma once
// Two runs side by side: the same bits, or as near as sums in another order allow.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "parallel_run.h"

namespace trireme {

inline void expect_bits(const Result& result, const Result& reference, const std::string& what) {
  EXPECT_EQ(result.losses, reference.losses) << what;
  EXPECT_EQ(result.norms, reference.norms) << what;
  EXPECT_EQ(result.evaluated, reference.evaluated) << what;
  for (const auto member : {&Result::first, &Result::tensors}) {
    const Tensors& tensors = result.*member;
    ASSERT_EQ(tensors.size(), (reference.*member).size()) << what;
    for (const auto& [key, values] : reference.*member) {
      const std::vector<float>& found = tensors.at(key);
      ASSERT_EQ(found.size(), values.size()) << what << ", " << key.first;
      const auto apart = std::mismatch(found.begin(), found.end(), values.begin());
      ASSERT_EQ(apart.first, found.end())
          << what << ", " << key.first << ", state " << static_cast<int>(key.second)
          << (member == &Result::first ? " behind the first step" : " at the end") << ", element "
          << apart.first - found.begin() << ": " << *apart.first << " and " << *apart.second;
    }
  }
}

/// How far two runs of a model may be apart that take sums in another order (t, d, b), relative to
/// the largest element of a tensor.
///
/// A rounding to f32 moves a number by u/sqrt(6) of it, u = 2^-24, as the root mean square over its
/// place between two powers of two. A sum over n terms has n of them, each of a partial sum that
/// has grown to sqrt(k/n) of the result: u sqrt(n/12); twice the square of that where two orders
/// are compared: u sqrt(n/6). Errors of different sums are independent, and the residual passes
/// each on as large as it is. So what counts is how long all sums are that stand between the tokens
/// and an element of a gradient. The largest of so many errors lies 6 standard deviations out, the
/// largest element of a small tensor 2, which leaves kLargest.
struct Rounding {
  static constexpr double kUnit = 0x1p-24;
  static constexpr double kLargest = 3;
  double relative;

  explicit Rounding(const Model& model) {
    const model::GptShape& shape = model.shape;
    const int64_t s = shape.length;
    const int64_t h = shape.hidden;
    const int64_t d = shape.head_dim();
    // Four products, two norms of two sums, scores, softmax, context.
    const int64_t forward = 7 * h + shape.ffn + d + 2 * s;
    // The products again, two norms of two sums, attention's four gradients and its row sums.
    const int64_t backward = 9 * h + shape.ffn + 2 * d + 4 * s;
    // Norm, logits, the cross entropy's sum, and back; the weight gradient's over all tokens.
    const int64_t ends = 5 * h + 2 * shape.vocabulary + s * model.global_batch;
    const int64_t terms = shape.layers * (forward + backward) + ends;
    relative = kLargest * kUnit * std::sqrt(static_cast<double>(terms) / 6);
  }
  /// A first moment is the gradient times the clip factor, which has the norm's error; a second one
  /// that squared.
  [[nodiscard]] double of(engine::TensorState state) const {
    return relative * (state == TensorState::first_moment    ? 2
                       : state == TensorState::second_moment ? 4
                                                             : 1);
  }
  /// Losses behind an update. Adam moves an element by at most the rate, whatever its gradient's
  /// size; where an error turns its sign, the loss changes by rate times at most that error. Over
  /// all elements these are independent.
  [[nodiscard]] double behind_update(const Result& reference) const {
    double squares = 0;
    for (const auto& [key, values] : reference.first) {
      if (key.second != TensorState::gradient) continue;
      const double error = relative * largest(values);
      squares += static_cast<double>(values.size()) * error * error;
    }
    return 2 * kRate * std::sqrt(squares);
  }
  static double largest(const std::vector<float>& values) {
    double most = 0;
    for (const float value : values) most = std::max(most, std::abs(double{value}));
    return most;
  }
};

/// Returns the largest part of its tolerance that any number needed.
inline double expect_near(const Result& result, const Result& reference, const Model& model,
                          const std::string& what) {
  const Rounding rounding(model);
  double worst = 0;
  const auto compare = [&](double found, double expected, double tolerance,
                           const std::string& number) {
    const double apart = std::abs(found - expected);
    worst = std::max(worst, apart / tolerance);
    EXPECT_LE(apart, tolerance) << what << ", " << number << ": " << found << " and " << expected;
  };
  double moved = 0;  // by the updates so far
  for (size_t step = 0; step < reference.losses.size(); ++step) {
    const double loss = reference.losses[step];
    compare(result.losses[step], loss, rounding.relative * loss + moved,
            format("loss of step {}", step + 1));
    moved += rounding.behind_update(reference);
  }
  compare(result.norms[0], reference.norms[0], rounding.relative * reference.norms[0],
          "norm of step 1");
  compare(*result.evaluated, *reference.evaluated, rounding.relative * *reference.evaluated + moved,
          "evaluated");
  EXPECT_EQ(result.first.size(), reference.first.size()) << what;
  for (const auto& [key, values] : reference.first) {
    const std::vector<float>& found = result.first.at(key);
    const double tolerance = rounding.of(key.second) * Rounding::largest(values);
    size_t at = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      if (std::abs(found[i] - values[i]) > std::abs(found[at] - values[at])) at = i;
    }
    compare(found[at], values[at], tolerance,
            format("{}, state {}, element {}", key.first, static_cast<int>(key.second), at));
  }
  return worst;
}

}  // namespace trireme
