#include <algorithm>

#include "model/chunk_program.h"
#include "train/cut.h"

namespace trireme::train {
namespace {

double work_of(const std::vector<program::Op>& ops) {
  double work = 0;
  for (const program::Op& op : ops) {
    const program::Cost cost = program::cost_of(op.spec);
    work += std::max(cost.flops, cost.bytes * kFlopsPerByte);
  }
  return work;
}

// Forward and backward of a microbatch.
double work_of(const program::Program& program) {
  double work = 0;
  for (const program::Instance& instance : program.instances) {
    const program::Block& block = program.blocks[static_cast<size_t>(instance.block)];
    work += work_of(block.forward) + work_of(block.backward);
  }
  return work;
}

}  // namespace

parallel::StageCosts stage_costs(const model::GptShape& shape, const model::BatchShape& batch,
                                 const parallel::Topology& topology) {
  const parallel::TensorTable table = model::gpt_tensors(shape, topology);
  const model::Sizes sizes = model::sizes_of(shape, batch, topology, {}, model::Mode::train);
  // The step reads weight, gradient and two moments, writes all but the gradient, and reads the
  // gradient once more for the norm.
  constexpr double kPasses = 8;
  const auto cost = [&](const parallel::Chunk& part) {
    const double step =
        kPasses * kFlopsPerByte *
        static_cast<double>(model::local_tensors(table, {part}, topology, {}).parameter_bytes);
    return work_of(model::chunk_program(sizes, part, table)) + step / batch.microbatches;
  };
  return {.layer = cost({.chunk = {}, .stage = {}, .layers = 1}),
          .embedding = cost({.chunk = {}, .stage = {}, .embedding = true}),
          .head = cost({.chunk = {}, .stage = {}, .head = true})};
}

}  // namespace trireme::train
