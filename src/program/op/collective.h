#pragma once
#include "core/ids.h"
#include "program/operand.h"

namespace trireme::program {

/// How ranks' buffers are joined.
enum class Reduction { sum, maximum };

/// Starts the all-reduce of a buffer in place over the group of an axis; its wait stands before the
/// buffer's next use. All ranks of a group start theirs in the same order. Emitted only where the
/// group has more than one rank.
///   buffer [elements]
struct AllReduceStart {
  static constexpr std::string_view kName = "all_reduce_start";
  enum { kBuffer };
  Axis axis = Axis::tensor;
  int64_t ranks = 1;
  int64_t elements = 0;
  Reduction reduction = Reduction::sum;

  [[nodiscard]] std::vector<Operand> operands() const {
    return {{"buffer", Access::update, DType::f32, elements}};
  }
  [[nodiscard]] Cost cost() const { return {}; }
  [[nodiscard]] int64_t workspace_bytes(const BackendProfile&) const { return 0; }
  /// Bytes each rank sends: 2 (n-1)/n of the buffer, that of a ring.
  [[nodiscard]] double wire_bytes() const {
    return 2.0 * static_cast<double>(ranks - 1) / static_cast<double>(ranks) * 4 *
           static_cast<double>(elements);
  }
};

/// Waits for the all-reduce that was started on this buffer.
struct AllReduceWait {
  static constexpr std::string_view kName = "all_reduce_wait";
  enum { kBuffer };
  Axis axis = Axis::tensor;
  int64_t elements = 0;

  [[nodiscard]] std::vector<Operand> operands() const {
    return {{"buffer", Access::update, DType::f32, elements}};
  }
  [[nodiscard]] Cost cost() const { return {}; }
  [[nodiscard]] int64_t workspace_bytes(const BackendProfile&) const { return 0; }
};

}  // namespace trireme::program
