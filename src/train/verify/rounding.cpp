#include "train/verify/rounding.h"

#include <cmath>

namespace trireme::train {

Roundings::Roundings(const model::GptShape& shape, int64_t batch)
    : layers_(shape.layers),
      // mean and variance, qkv, scores, softmax, context, projection
      attention_(static_cast<double>(2 * shape.hidden + shape.hidden + shape.head_dim() +
                                     2 * shape.length + shape.hidden)),
      // mean and variance, fc1, GELU, fc2
      mlp_(static_cast<double>(2 * shape.hidden + shape.hidden + 20 + shape.ffn)),
      // mean and variance, logits, the sum of the softmax
      head_(static_cast<double>(2 * shape.hidden + shape.hidden + shape.vocabulary)),
      tokens_(static_cast<double>(batch * shape.length)) {}

int Roundings::position(const parallel::Place& place, bool in_mlp) const {
  switch (place.part) {
    case parallel::Place::Part::embedding:
      return 0;
    case parallel::Place::Part::layer:
      return 1 + 2 * place.layer + (in_mlp ? 1 : 0);
    case parallel::Place::Part::head:
      break;
  }
  return head();
}

double Roundings::relative(double terms) {
  return kMargin * kUnit * std::sqrt(terms);
}

double Roundings::terms(int position) const {
  if (position == 0) return 2;
  if (position == head()) return head_;
  return position % 2 == 1 ? attention_ : mlp_;
}

double Roundings::forward_terms(int position) const {
  double sum = 0;
  for (int at = 0; at <= position; ++at) sum += terms(at);
  return sum;
}

// Behind the whole forward; each block's backward has its products again, twice as many.
double Roundings::backward_terms(int position) const {
  double sum = forward_terms(head());
  for (int at = head(); at >= position; --at) sum += 2 * terms(at);
  return sum;
}

}  // namespace trireme::train
