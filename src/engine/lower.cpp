#include "engine/lower.h"

#include <algorithm>

#include "core/error.h"
#include "core/format.h"

namespace trireme::engine {
namespace {

// The buckets of a chunk that start behind an op. They lie in the order of their starts.
void put_buckets(const std::vector<model::Bucket>& buckets, int chunk, size_t instance, size_t op,
                 LoweredOp& lowered) {
  const auto starts_here = [&](const model::Bucket& bucket) {
    return bucket.chunk == chunk && bucket.instance == static_cast<int>(instance) &&
           bucket.op == static_cast<int>(op);
  };
  const auto first = std::find_if(buckets.begin(), buckets.end(), starts_here);
  lowered.first_bucket = static_cast<size_t>(first - buckets.begin());
  while (lowered.first_bucket + lowered.buckets < buckets.size() &&
         starts_here(buckets[lowered.first_bucket + lowered.buckets]))
    ++lowered.buckets;
  if (lowered.buckets == 0) lowered.first_bucket = 0;
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
    if (!program::is_collective(op.spec)) {
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
                     const ops::KernelTable& kernels, int chunk) {
  LoweredProgram lowered;
  const size_t instances = placed.program.instances.size();
  for (size_t i = 0; i < instances; ++i)
    append(plan, placed, kernels, i, &program::Block::forward, lowered.forward);
  for (size_t i = instances; i-- > 0;) {
    const size_t first = lowered.backward.size();
    append(plan, placed, kernels, i, &program::Block::backward, lowered.backward);
    if (!plan.reduction.overlap) continue;
    for (size_t op = first; op < lowered.backward.size(); ++op)
      put_buckets(plan.buckets, chunk, i, op - first, lowered.backward[op]);
  }
  return lowered;
}

}  // namespace trireme::engine
