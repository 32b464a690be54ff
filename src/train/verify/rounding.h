#pragma once
#include "model/gpt_shape.h"
#include "parallel/tensor_table.h"

namespace trireme::train {

/// How far two runs may be apart whose sums are taken in another order.
///
/// A sum of n terms in fp32 rounds n times. Each rounding is off by at most u = 2^-24 of the
/// partial sum, up or down alike, so the sum is off by about u sqrt(n) of its size (partial sums
/// grow to it as sqrt(k) or as k; both give less than that). Along the data flow such errors add up
/// as independent ones do: a value that n roundings lie behind, one sum after the other, is off by
/// u sqrt(n) of the largest of its tensor, give or take. kMargin covers the largest of many
/// elements (4 standard deviations of the rounding of a sum, each of which is at most u / sqrt(3))
/// and what norms and softmax add to an error. A fault in the mathematics is off by 1e-3 and more.
class Roundings {
 public:
  /// batch: sequences of the global batch.
  Roundings(const model::GptShape& shape, int64_t batch);

  static constexpr double kUnit = 0x1p-24;
  static constexpr double kMargin = 4;

  /// Where blocks stand in the forward: 0 the embedding, 1 + 2 layer attention, 2 + 2 layer the
  /// MLP, behind them the head.
  [[nodiscard]] int head() const { return 1 + 2 * layers_; }
  [[nodiscard]] int position(const parallel::Place& place, bool in_mlp) const;

  /// Relative tolerances: of what the block at this position makes in forward and in backward, and
  /// of the gradients of its tensors over the batch.
  [[nodiscard]] double forward(int position) const { return relative(forward_terms(position)); }
  [[nodiscard]] double backward(int position) const { return relative(backward_terms(position)); }
  [[nodiscard]] double gradient(int position) const {
    return relative(backward_terms(position) + tokens_);
  }

 private:
  [[nodiscard]] static double relative(double terms);
  [[nodiscard]] double terms(int position) const;
  [[nodiscard]] double forward_terms(int position) const;
  [[nodiscard]] double backward_terms(int position) const;

  int layers_;
  double attention_;  // terms of the sums that stand one behind the other in a block
  double mlp_;
  double head_;
  double tokens_;
};

}  // namespace trireme::train
