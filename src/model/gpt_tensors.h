#pragma once
#include <optional>
#include <vector>

#include "model/gpt_shape.h"
#include "parallel/stages.h"
#include "parallel/tensor_table.h"

namespace trireme::model {

/// The tensor table of a GPT, in the order of the data flow, with Megatron-LM's names. Initial
/// deviations: `init_deviation` for embeddings, QKV and fc1; divided by sqrt(2 l) for the two
/// projections back into the residual. Decay: matrices only.
[[nodiscard]] parallel::TensorTable gpt_tensors(const GptShape& shape,
                                                const parallel::Topology& topology);

/// Where one rank keeps a tensor (all fp32 so far).
struct LocalTensor {
  parallel::Slice slice;
  int64_t offset = 0;           ///< bytes, in the parameter and in each moment arena
  int64_t gradient_offset = 0;  ///< bytes, in the gradient arena
  /// Tied, and the other holder is on this rank: parameter and moments are the other's, the
  /// gradient accumulator is its own.
  std::optional<TensorId> alias = {};

  [[nodiscard]] int64_t elements() const { return slice.storage.elements(); }
};

/// The tensors that one rank holds.
struct LocalTensors {
  std::vector<std::optional<LocalTensor>> tensors;  ///< by tensor id
  int64_t parameter_bytes = 0;                      ///< of the parameter and of each moment arena
  int64_t gradient_bytes = 0;

  [[nodiscard]] const LocalTensor& operator[](TensorId id) const {
    return *tensors[static_cast<size_t>(id.value)];
  }
  [[nodiscard]] bool holds(TensorId id) const {
    return tensors[static_cast<size_t>(id.value)].has_value();
  }
};

/// What the rank at these coordinates, with these chunks, holds. Offsets are multiples of 64 bytes,
/// in table order.
[[nodiscard]] LocalTensors local_tensors(const parallel::TensorTable& table,
                                         const std::vector<parallel::Chunk>& chunks,
                                         const parallel::Topology& topology,
                                         const parallel::Coordinates& at);

}  // namespace trireme::model
