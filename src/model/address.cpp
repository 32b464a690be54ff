#include "model/address.h"

namespace trireme::model {

using program::Placement;
using program::Program;
using program::Value;
using program::ValueKind;

namespace {

Address address_of_placement(const PlacedProgram& placed, const Placement& placement,
                             int64_t saved_base) {
  if (placement.area == Placement::Area::saved) {
    return {.arena = ArenaKind::activations,
            .offset = placed.activation_base + saved_base + placement.offset,
            .stride = placed.slots.saved_bytes};
  }
  return {.arena = placed.temporary_arena, .offset = placement.offset};
}

}  // namespace

Address address_of_flow(const PlacedProgram& placed, int flow) {
  const Program& program = placed.program;
  const auto message = [&](ArenaKind arena) {
    return Address{.arena = arena, .stride = placed.message_stride};
  };
  if (flow == program.input) return message(ArenaKind::received_activations);
  if (flow == program.output) return message(ArenaKind::sent_activations);
  if (flow == program.output_gradient) return message(ArenaKind::received_gradients);
  if (flow == program.input_gradient) return message(ArenaKind::sent_gradients);
  if (flow == program.logits) return {.arena = ArenaKind::decoded};
  if (flow == program.own_logits)
    return {.arena = ArenaKind::decoded, .offset = placed.own_logits_offset};
  return address_of_placement(placed, placed.slots.flows[static_cast<size_t>(flow)], 0);
}

Address address_of(const RunPlan& plan, const PlacedProgram& placed, size_t instance_index,
                   int value_index) {
  const program::Instance& instance = placed.program.instances[instance_index];
  const auto v = static_cast<size_t>(value_index);
  const Value& value = placed.program.blocks[static_cast<size_t>(instance.block)].values[v];
  const int bound = instance.bindings[v];
  switch (value.kind) {
    case ValueKind::parameter:
      return {.arena = ArenaKind::parameters, .offset = plan.local[TensorId{bound}].offset};
    case ValueKind::gradient:
      return {.arena = ArenaKind::gradients, .offset = plan.local[TensorId{bound}].gradient_offset};
    case ValueKind::bucket:
      return {.arena = ArenaKind::gradients,
              .offset = plan.buckets[static_cast<size_t>(value.which)].offset};
    case ValueKind::first_moment:
      return {.arena = ArenaKind::first_moments, .offset = plan.local[TensorId{bound}].offset};
    case ValueKind::second_moment:
      return {.arena = ArenaKind::second_moments, .offset = plan.local[TensorId{bound}].offset};
    case ValueKind::flow:
      return address_of_flow(placed, bound);
    case ValueKind::batch_field:
      return {.arena = ArenaKind::batch,
              .offset = plan.batch_layout.offset[static_cast<size_t>(value.which)],
              .stride = plan.batch_layout.slot_bytes};
    case ValueKind::scalar:
      return {.arena = ArenaKind::scalars,
              .offset = scalar_offset(static_cast<program::StepScalar>(value.which))};
    case ValueKind::persistent:
      return {.arena = ArenaKind::cache,
              .offset = placed.slots.persistent_base[instance_index] +
                        placed.slots.locals[static_cast<size_t>(instance.block)][v].offset};
    case ValueKind::local:
      return address_of_placement(placed,
                                  placed.slots.locals[static_cast<size_t>(instance.block)][v],
                                  placed.slots.saved_base[instance_index]);
  }
  return {};
}

}  // namespace trireme::model
