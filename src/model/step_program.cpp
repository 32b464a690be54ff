#include "core/error.h"
#include "model/chunk_program.h"

namespace trireme::model {

using namespace program;

Program step_program(const OptimizerRules& rules, const parallel::TensorTable& table,
                     const LocalTensors& local) {
  BlockBuilder block("step");
  std::vector<int> bindings;
  const auto bind = [&](int value, TensorId id) {
    bindings.resize(static_cast<size_t>(value) + 1, kNoValue);
    bindings.back() = id.value;
    return value;
  };
  const auto ids_held = [&] {
    std::vector<TensorId> ids;
    for (int i = 0; i < table.size(); ++i) {
      if (local.holds(TensorId{i})) ids.push_back(TensorId{i});
    }
    return ids;
  }();

  std::vector<int> gradients(static_cast<size_t>(table.size()), kNoValue);
  int64_t blocks = 0;
  for (const TensorId id : ids_held) {
    gradients[static_cast<size_t>(id.value)] =
        bind(block.gradient(table[id].name, local[id].slice.storage), id);
    if (table[id].counted_in_norm) blocks += norm_blocks(local[id].elements());
  }
  // Two uses of one tensor: their gradients are added once, before anything else sees them.
  for (const TensorId id : ids_held) {
    if (!local[id].alias) continue;
    block.forward(AddInto{.elements = local[id].elements()},
                  {gradients[static_cast<size_t>(id.value)],
                   gradients[static_cast<size_t>(local[id].alias->value)]});
  }

  const int squares = block.local("squares", {blocks}, DType::f64);
  const int norm = block.scalar(StepScalar::gradient_norm);
  const int factor = block.scalar(StepScalar::clip_factor);
  const int rate = block.scalar(StepScalar::learning_rate);
  const int adam_step = block.scalar(StepScalar::adam_step);
  int64_t first_block = 0;
  for (const TensorId id : ids_held) {
    if (!table[id].counted_in_norm) continue;
    const int64_t elements = local[id].elements();
    block.forward(SquareSums{.elements = elements, .first_block = first_block, .blocks = blocks},
                  {gradients[static_cast<size_t>(id.value)], squares});
    first_block += norm_blocks(elements);
  }
  block.forward(ClipFactor{.blocks = blocks, .clip = rules.clip_gradient}, {squares, norm, factor});
  for (const TensorId id : ids_held) {
    if (local[id].alias) continue;
    const Shape shape = local[id].slice.storage;
    block.forward(
        AdamW{.elements = shape.elements(),
              .beta1 = rules.beta1,
              .beta2 = rules.beta2,
              .epsilon = rules.epsilon,
              .decay = table[id].decay ? rules.weight_decay : 0},
        {bind(block.parameter(table[id].name, shape), id), gradients[static_cast<size_t>(id.value)],
         bind(block.moment(ValueKind::first_moment, table[id].name, shape), id),
         bind(block.moment(ValueKind::second_moment, table[id].name, shape), id), factor, rate,
         adam_step});
  }

  Program program = {.name = "step"};
  program.blocks.push_back(block.take());
  bindings.resize(program.blocks[0].values.size(), kNoValue);
  program.instances.push_back({.block = 0, .layer = 0, .bindings = std::move(bindings)});
  return program;
}

}  // namespace trireme::model
