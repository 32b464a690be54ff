#include "model/run_plan.h"

#include <algorithm>

#include "core/error.h"
#include "core/format.h"
#include "schedule/schedules.h"
#include "schedule/validate.h"

namespace trireme::model {
namespace {

using program::BackwardForm;
using program::Placement;
using program::Program;
using program::SlotPlan;
using program::Value;
using program::ValueKind;

constexpr int64_t aligned(int64_t bytes) {
  return (bytes + 63) / 64 * 64;
}

PlacedProgram place(Program program, BackwardForm form = BackwardForm::joined) {
  SlotPlan slots = program::plan_slots(program, form);
  return {.program = std::move(program), .slots = std::move(slots)};
}

void collect_fields(const Program& program, BatchLayout& layout) {
  for (const program::Block& block : program.blocks) {
    for (const Value& value : block.values) {
      if (value.kind != ValueKind::batch_field) continue;
      int64_t& bytes = layout.bytes[static_cast<size_t>(value.which)];
      bytes = std::max(bytes, value.bytes());
    }
  }
}

// A schedule with I and W apart lets other actions come between them.
BackwardForm form_of(const std::vector<BatchPlan>& batches) {
  for (const BatchPlan& batch : batches) {
    for (const schedule::Action& action : batch.schedule.actions) {
      if (action.kind == schedule::ActionKind::input_gradient ||
          action.kind == schedule::ActionKind::weight_gradient) {
        return BackwardForm::split;
      }
    }
  }
  return BackwardForm::joined;
}

std::vector<PlacedProgram> chunk_programs(const RunPlan& plan, Mode mode) {
  const Sizes sizes = sizes_of(plan.shape, plan.batch, plan.topology, plan.at, mode);
  std::vector<PlacedProgram> programs;
  for (const parallel::Chunk& chunk : plan.chunks)
    programs.push_back(place(chunk_program(sizes, chunk, plan.table), form_of(plan.batches)));
  return programs;
}

// Every program of the plan.
template <class Visit>
void for_each_program(RunPlan& plan, Visit visit) {
  for (PlacedProgram& placed : plan.train) visit(placed);
  for (PlacedProgram& placed : plan.evaluate) visit(placed);
  if (plan.decode) visit(*plan.decode);
  for (PlacedProgram& placed : plan.prompts) visit(placed);
  if (plan.step) visit(*plan.step);
}

// Offsets of the batch fields in a slot.
void lay_out_fields(RunPlan& plan) {
  BatchLayout& layout = plan.batch_layout;
  for_each_program(plan,
                   [&](const PlacedProgram& placed) { collect_fields(placed.program, layout); });
  for (size_t field = 0; field < layout.bytes.size(); ++field) {
    layout.offset[field] = layout.slot_bytes;
    layout.slot_bytes += aligned(layout.bytes[field]);
  }
}

// Sizes of the arenas, and where each program lies in them.
void lay_out_memory(RunPlan& plan) {
  MemoryPlan& memory = plan.memory;
  memory[ArenaKind::parameters] = plan.local.parameter_bytes;
  if (plan.step) {
    memory[ArenaKind::gradients] = plan.local.gradient_bytes;
    memory[ArenaKind::first_moments] = plan.local.parameter_bytes;
    memory[ArenaKind::second_moments] = plan.local.parameter_bytes;
  }
  for (size_t chunk = 0; chunk < plan.train.size(); ++chunk) {
    int in_flight = 0;
    for (const BatchPlan& batch : plan.batches)
      in_flight = std::max(in_flight, batch.assignment.in_flight[chunk]);
    memory.chunks.push_back(
        {.in_flight = in_flight, .slot_bytes = plan.train[chunk].slots.saved_bytes});
    plan.train[chunk].activation_base = memory[ArenaKind::activations];
    memory[ArenaKind::activations] += memory.chunks.back().bytes();
  }
  int batch_slots = 1;
  for (const BatchPlan& batch : plan.batches)
    batch_slots = std::max(batch_slots, batch.assignment.batch_slots);
  if (plan.evaluation) batch_slots = std::max(batch_slots, plan.evaluation->assignment.batch_slots);
  // Evaluation happens between steps, when no microbatch is in flight: its temporaries lie where
  // the activations were.
  if (!plan.train.empty()) {
    for (PlacedProgram& placed : plan.evaluate) placed.temporary_arena = ArenaKind::activations;
  }
  for_each_program(plan, [&](const PlacedProgram& placed) {
    int64_t& bytes = memory[placed.temporary_arena];
    bytes = std::max(bytes, placed.slots.temporary_bytes);
    memory[ArenaKind::workspace] = std::max(memory[ArenaKind::workspace],
                                            program::workspace_bytes(placed.program, plan.profile));
    // The programs that decode have the same caches.
    int64_t& cache = memory[ArenaKind::cache];
    cache = std::max(cache, placed.slots.persistent_bytes);
  });
  memory[ArenaKind::batch] = plan.batch_layout.slot_bytes * batch_slots;
  memory[ArenaKind::scalars] = 64 * program::kStepScalars;
}

}  // namespace

const BatchPlan& RunPlan::batch_plan(int microbatches) const {
  const auto found = std::find_if(batches.begin(), batches.end(), [&](const BatchPlan& plan) {
    return plan.microbatches == microbatches;
  });
  TRIREME_ASSERT(found != batches.end(), "every batch of a run is planned");
  return *found;
}

double RunPlan::nominal_step_flops(int microbatches) const {
  double flops = 0;
  for (const PlacedProgram& placed : train) {
    const program::Totals sums = program::totals(placed.program);
    flops += (sums.forward.nominal_flops + sums.backward.nominal_flops) * microbatches;
  }
  return flops;
}

namespace {

BatchPlan plan_batch(schedule::Schedule schedule) {
  schedule::validate(schedule);
  schedule::SlotAssignment assignment = schedule::assign_slots(schedule);
  return {.microbatches = schedule.microbatches,
          .schedule = std::move(schedule),
          .assignment = std::move(assignment)};
}

}  // namespace

RunPlan plan_run(const RunRequest& request) {
  require_possible(request.shape, request.batch, request.topology);
  RunPlan plan;
  plan.shape = request.shape;
  plan.batch = request.batch;
  plan.topology = request.topology;
  plan.at = request.at;
  plan.profile = request.profile;
  plan.table = gpt_tensors(request.shape, request.topology);
  plan.chunks = parallel::equal_layout(request.shape.layers, request.topology.pipeline(), 1)
                    .chunks(request.at.pipeline);
  plan.local = local_tensors(plan.table, plan.chunks, request.topology, request.at);

  if (request.train) {
    std::vector<int> sizes = request.smaller_batches;
    sizes.push_back(request.batch.microbatches);
    std::sort(sizes.begin(), sizes.end());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    for (const int m : sizes) {
      if (request.order && request.order->microbatches == m) {
        schedule::validate(*request.order);
        plan.batches.push_back(plan_batch(*request.order));
        continue;
      }
      plan.batches.push_back(plan_batch(schedule::one_forward_one_backward(
          {.stages = request.topology.pipeline(), .microbatches = m}, request.at.pipeline)));
    }
    TRIREME_ASSERT(sizes.back() == request.batch.microbatches, "the request names the largest");
    plan.train = chunk_programs(plan, Mode::train);
    plan.step = place(step_program(request.optimizer, plan.table, plan.local));
  }
  if (request.evaluate) {
    plan.evaluation =
        plan_batch(schedule::forward_only({.microbatches = request.batch.microbatches}));
    plan.evaluate = chunk_programs(plan, Mode::evaluate);
  }
  plan.decode_shape = request.decode;
  if (request.decode.capacity > 0) {
    const auto program = [&](Mode mode, int64_t rows) {
      const Sizes sizes =
          sizes_of(request.shape, request.decode, rows, request.topology, request.at, mode);
      return place(chunk_program(sizes, plan.chunks.front(), plan.table));
    };
    plan.decode = program(Mode::decode, request.decode.places);
    for (const int64_t rows : request.decode.prompt_rows)
      plan.prompts.push_back(program(Mode::prompt, rows));
  }

  lay_out_fields(plan);
  lay_out_memory(plan);
  return plan;
}

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
