#include "engine/lower.h"

#include "core/error.h"

namespace trireme::engine {
namespace {

bool is_collective(const program::OpSpec& spec) {
  return std::holds_alternative<program::AllReduceStart>(spec) ||
         std::holds_alternative<program::AllReduceWait>(spec);
}

void append(const model::RunPlan& plan, const model::PlacedProgram& placed,
            const ops::KernelTable& kernels, size_t instance, const std::vector<program::Op>& ops,
            std::vector<LoweredOp>& out) {
  for (const program::Op& op : ops) {
    LoweredOp& lowered = out.emplace_back();
    lowered.spec = &op.spec;
    lowered.half = op.half;
    lowered.layer = static_cast<uint32_t>(placed.program.instances[instance].layer);
    if (!is_collective(op.spec)) {
      lowered.kernel = kernels[op.spec];
      TRIREME_ASSERT(lowered.kernel != nullptr, "a backend has a kernel for every op kind");
    }
    for (const int value : op.values) {
      const bool present = value != program::kNoValue;
      lowered.present.push_back(present);
      lowered.operands.push_back(present ? model::address_of(plan, placed, instance, value)
                                         : model::Address{});
    }
  }
}

}  // namespace

LoweredProgram lower(const model::RunPlan& plan, const model::PlacedProgram& placed,
                     const ops::KernelTable& kernels) {
  LoweredProgram lowered;
  const auto& instances = placed.program.instances;
  for (size_t i = 0; i < instances.size(); ++i) {
    append(plan, placed, kernels, i,
           placed.program.blocks[static_cast<size_t>(instances[i].block)].forward, lowered.forward);
  }
  for (size_t i = instances.size(); i-- > 0;) {
    append(plan, placed, kernels, i,
           placed.program.blocks[static_cast<size_t>(instances[i].block)].backward,
           lowered.backward);
  }
  return lowered;
}

}  // namespace trireme::engine
