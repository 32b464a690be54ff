#include "engine/lower.h"

#include "core/error.h"
#include "core/format.h"

namespace trireme::engine {
namespace {

bool is_collective(const program::OpSpec& spec) {
  return std::holds_alternative<program::AllReduceStart>(spec) ||
         std::holds_alternative<program::AllReduceWait>(spec);
}

void append(const model::RunPlan& plan, const model::PlacedProgram& placed,
            const ops::KernelTable& kernels, size_t instance,
            std::vector<program::Op> program::Block::*direction, std::vector<LoweredOp>& out) {
  const program::Instance& of = placed.program.instances[instance];
  const program::Block& block = placed.program.blocks[static_cast<size_t>(of.block)];
  for (const program::Op& op : block.*direction) {
    LoweredOp& lowered = out.emplace_back();
    lowered.block = &block;
    lowered.op = &op;
    lowered.layer = static_cast<uint32_t>(of.layer);
    if (!is_collective(op.spec)) {
      lowered.kernel = kernels[op.spec];
      if (lowered.kernel == nullptr) {
        fail({.where = "device",
              .what = format("it has no kernel for {}", program::name_of(op.spec)),
              .rule = "a run needs one for each of its ops",
              .remedy = "run with --device cpu"});
      }
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
  const size_t instances = placed.program.instances.size();
  for (size_t i = 0; i < instances; ++i)
    append(plan, placed, kernels, i, &program::Block::forward, lowered.forward);
  for (size_t i = instances; i-- > 0;)
    append(plan, placed, kernels, i, &program::Block::backward, lowered.backward);
  return lowered;
}

}  // namespace trireme::engine
