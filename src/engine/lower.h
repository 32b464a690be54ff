#pragma once
#include <vector>

#include "engine/memory.h"
#include "model/address.h"
#include "model/run_plan.h"
#include "ops/kernel.h"

namespace trireme::engine {

/// One op of one instance, ready to run: its kernel, its sizes, where its operands lie.
struct LoweredOp {
  ops::Kernel kernel = nullptr;  ///< null for collectives
  const program::Block* block = nullptr;
  const program::Op* op = nullptr;  ///< of that block
  uint32_t layer = 0;
  /// Of a backward: the plan's buckets that are complete behind it in the last microbatch's.
  size_t first_bucket = 0;
  size_t buckets = 0;
  std::vector<model::Address> operands;
  std::vector<bool> present;  ///< false: the operand is not there

  /// The start of a collective, or its wait.
  [[nodiscard]] bool is_exchange() const { return kernel == nullptr; }
  /// The block's value that operand i is; it must be present.
  [[nodiscard]] const program::Value& value(size_t i) const {
    return block->values[static_cast<size_t>(op->values[i])];
  }
};

/// A program unrolled over its instances, in execution order (backward: instances reversed). Points
/// into the placed program, which must outlive it.
struct LoweredProgram {
  std::vector<LoweredOp> forward;
  std::vector<LoweredOp> backward;
};

/// chunk: of a training program, whose backward completes buckets. Throws, naming the op, where the
/// device has no kernel for one.
[[nodiscard]] LoweredProgram lower(const model::RunPlan& plan, const model::PlacedProgram& placed,
                                   const ops::KernelTable& kernels, int chunk = -1);

}  // namespace trireme::engine
