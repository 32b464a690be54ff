#pragma once
#include <cstddef>
#include <cstdint>

#include "core/thread_pool.h"
#include "program/op/product.h"

namespace trireme::ops::cpu {

using program::kProductGroup;
using program::kProductPanel;
using program::kProductTerms;

/// One factor of a matrix product as it lies in memory. Its lines are the rows of a left factor or
/// the columns of a right one; each has as many terms as an output element adds up.
struct Factor {
  const float* data = nullptr;
  int64_t stride = 0;    ///< elements from one stored row to the next
  bool by_term = false;  ///< a stored row has one term of all lines, not all terms of one line
};

/// A weight [out, in] as the products of its layer get it. How weights are stored is known here
/// alone: this is where 16-bit storage or packed copies with a version would come in. Packed copies
/// of fp32 weights do not pay (docs/performance.md).
struct Weight {
  const float* data = nullptr;
  int64_t in = 0;

  /// Right factor of y = x w^T: its columns are the stored rows.
  [[nodiscard]] Factor forward() const { return {.data = data, .stride = in}; }
  /// Right factor of dx = dy w.
  [[nodiscard]] Factor input_gradient() const {
    return {.data = data, .stride = in, .by_term = true};
  }
};

/// out [rows, columns] = start + left right, row-major without gaps.
struct Multiplication {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t terms = 0;
  Factor left;
  Factor right;
  const float* bias = nullptr;  ///< [columns]: the start of every row; null: zero
  bool accumulate = false;      ///< the start is what is there; then there is no bias
  float* out = nullptr;
};

/// A matrix product on a pool's threads.
///
/// Arithmetic: an output element is ((start + p0) + p1) + ..., where pi is the sum over the i-th
/// block of kProductTerms terms, one chain of fused multiply-adds from zero in ascending order. So
/// its bits depend on its own line of each factor and on its start: not on rows, columns, threads,
/// the place in memory, nor the kind of vector unit among those with FMA (SSE4 has none: there each
/// product is rounded before it is added).
///
/// Method (Goto and van de Geijn 2008): the output is cut into tiles, a task each. A task packs a
/// block of terms of its columns and multiplies it with its rows, group by group. Rows that are
/// stored line by line are read in place, others are packed too. What a task packs next it asks for
/// while it multiplies. Threads share no packed memory: passing it from core to core costs more than
/// packing twice. Few rows are another matter (few_rows.h).
///
/// workspace: workspace_bytes(product, pool.threads()), aligned to 64 bytes.
void multiply(ThreadPool& pool, const Multiplication& product, std::byte* workspace);

/// Whether waking other threads would take longer than they would save.
[[nodiscard]] inline bool product_is_small(const Multiplication& product) {
  return product.rows * product.columns * product.terms <= 1 << 18;
}

/// Equal to that of the op kinds in program/op/product.h.
[[nodiscard]] int64_t workspace_bytes(const Multiplication& product, int threads);

}  // namespace trireme::ops::cpu
