#pragma once
#include "core/random.h"
#include "program/op/attention.h"

namespace trireme::ops::reference {

/// A strided view of the vectors of one head of one sequence: at(position)[0 .. head_dim).
template <class T>
struct HeadRows {
  T* first;
  int64_t stride;
  [[nodiscard]] T* at(int64_t position) const { return first + position * stride; }
};

/// q, k and v of one head of one sequence within [s, b, heads, 3, head_dim].
template <class T>
struct HeadQkv {
  HeadRows<T> q, k, v;
  HeadQkv(T* qkv, const program::AttentionSizes& op, int64_t sequence, int64_t head) {
    T* first = qkv + (sequence * op.heads + head) * 3 * op.head_dim;
    const int64_t stride = op.sequences * op.heads * 3 * op.head_dim;
    q = {first, stride};
    k = {first + op.head_dim, stride};
    v = {first + 2 * op.head_dim, stride};
  }
};

/// One head of one sequence within [s, b, heads, head_dim].
template <class T>
HeadRows<T> head_rows(T* context, const program::AttentionSizes& op, int64_t sequence,
                      int64_t head) {
  return {context + (sequence * op.heads + head) * op.head_dim,
          op.sequences * op.heads * op.head_dim};
}

template <class T>
double dot(const T* a, const T* b, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += double{a[i]} * b[i];
  return sum;
}

/// The number of a probability in the random format.
inline int64_t mask_element(const program::AttentionSizes& op, int64_t head, int64_t query,
                            int64_t key) {
  return ((op.first_head + head) * op.length + query) * random_row(op.length) + key;
}

}  // namespace trireme::ops::reference
