#include <vector>

#include "ops/reference/dropout.h"
#include "ops/reference/reference.h"

namespace trireme::ops::reference {
namespace {

// table[ids[i] - first_row] (+)= dy[i]; each row's sum in ascending order of i.
template <std::floating_point T>
void scatter_add(const int32_t* ids, int64_t tokens, const T* dy, int64_t hidden, T* table,
                 int64_t rows, int64_t first_row, bool accumulate) {
  std::vector<double> sums(static_cast<size_t>(hidden));
  for (int64_t row = 0; row < rows; ++row) {
    T* out = table + row * hidden;
    for (int64_t c = 0; c < hidden; ++c) {
      sums[static_cast<size_t>(c)] = accumulate ? double{out[c]} : 0.0;
    }
    for (int64_t i = 0; i < tokens; ++i) {
      if (ids[i] - first_row != row) continue;
      for (int64_t c = 0; c < hidden; ++c) sums[static_cast<size_t>(c)] += dy[i * hidden + c];
    }
    for (int64_t c = 0; c < hidden; ++c) out[c] = static_cast<T>(sums[static_cast<size_t>(c)]);
  }
}

template <std::floating_point T>
void embedding_lookup(device::Stream&, const program::EmbeddingLookup& op,
                      const Arguments& arguments) {
  const auto* tokens = arguments.pointer<const int32_t>(op.kTokens);
  const T* table = arguments.pointer<const T>(op.kTable);
  T* y = arguments.pointer<T>(op.kY);
  for (int64_t i = 0; i < op.tokens; ++i) {
    const int64_t row = tokens[i] - op.first_row;
    const bool ours = row >= 0 && row < op.rows;
    for (int64_t c = 0; c < op.hidden; ++c) {
      y[i * op.hidden + c] = ours ? table[row * op.hidden + c] : T{0};
    }
  }
}

template <std::floating_point T>
void embedding_gradient(device::Stream&, const program::EmbeddingGradient& op,
                        const Arguments& arguments) {
  scatter_add(arguments.pointer<const int32_t>(op.kTokens), op.tokens,
              arguments.pointer<const T>(op.kDy), op.hidden, arguments.pointer<T>(op.kDtable),
              op.rows, op.first_row, arguments.accumulate);
}

template <std::floating_point T>
void position_dropout(device::Stream&, const program::PositionDropout& op,
                      const Arguments& arguments) {
  const T* x = arguments.pointer<const T>(op.kX);
  const auto* positions = arguments.pointer<const int32_t>(op.kPositions);
  const T* table = arguments.pointer<const T>(op.kTable);
  const auto* samples = arguments.pointer<const int64_t>(op.kSamples);
  const int32_t seed = *arguments.pointer<const int32_t>(op.kSeed);
  T* y = arguments.pointer<T>(op.kY);
  for (int64_t position = 0; position < op.length; ++position) {
    for (int64_t sequence = 0; sequence < op.sequences; ++sequence) {
      const DropoutMask mask(op.dropout, seed, arguments.layer, samples[sequence]);
      const int64_t token = position * op.sequences + sequence;
      for (int64_t c = 0; c < op.hidden; ++c) {
        const double sum =
            double{x[token * op.hidden + c]} + table[positions[token] * op.hidden + c];
        y[token * op.hidden + c] =
            static_cast<T>(sum * mask.factor(position * random_row(op.hidden) + c));
      }
    }
  }
}

template <std::floating_point T>
void position_gradient(device::Stream&, const program::PositionGradient& op,
                       const Arguments& arguments) {
  scatter_add(arguments.pointer<const int32_t>(op.kPositions), op.tokens,
              arguments.pointer<const T>(op.kDx), op.hidden, arguments.pointer<T>(op.kDtable),
              op.rows, 0, arguments.accumulate);
}

}  // namespace

template <std::floating_point T>
void add_embedding(KernelTable& table) {
  entry<program::EmbeddingLookup, embedding_lookup<T>>(table);
  entry<program::EmbeddingGradient, embedding_gradient<T>>(table);
  entry<program::PositionDropout, position_dropout<T>>(table);
  entry<program::PositionGradient, position_gradient<T>>(table);
}
template void add_embedding<float>(KernelTable&);
template void add_embedding<double>(KernelTable&);

}  // namespace trireme::ops::reference
