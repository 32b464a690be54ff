#include "model/run_plan.h"

#include <algorithm>

#include "core/error.h"
#include "core/format.h"
#include "schedule/communication.h"

namespace trireme::model {
namespace {

using program::BackwardForm;
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
  if (plan.reduce) visit(*plan.reduce);
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

// Buffers of what goes between stages.
void lay_out_messages(RunPlan& plan) {
  for_each_program(plan, [&](const PlacedProgram& placed) {
    const Program& program = placed.program;
    for (const int flow : {program.input, program.output}) {
      if (flow == program::kNoValue) continue;
      plan.message_bytes =
          std::max(plan.message_bytes, aligned(program.flows[static_cast<size_t>(flow)].bytes()));
    }
  });
  if (plan.message_bytes == 0) return;
  for_each_program(plan,
                   [&](PlacedProgram& placed) { placed.message_stride = plan.message_bytes; });
  const auto hold = [&](ArenaKind kind, int buffers) {
    plan.memory[kind] = std::max(plan.memory[kind], buffers * plan.message_bytes);
  };
  const auto hold_batch = [&](const BatchPlan& batch) {
    hold(ArenaKind::received_activations, batch.buffers.receive_activation.count);
    hold(ArenaKind::sent_activations, batch.buffers.send_activation.count);
    hold(ArenaKind::received_gradients, batch.buffers.receive_gradient.count);
    hold(ArenaKind::sent_gradients, batch.buffers.send_gradient.count);
  };
  for (const BatchPlan& batch : plan.batches) hold_batch(batch);
  if (plan.evaluation) hold_batch(*plan.evaluation);
  if (!plan.decode) return;
  if (plan.decode->program.input != program::kNoValue) hold(ArenaKind::received_activations, 1);
  if (plan.decode->program.output != program::kNoValue) hold(ArenaKind::sent_activations, 1);
}

// What decoding makes for the host.
void lay_out_decoded(RunPlan& plan) {
  if (!plan.decode) return;
  const Program& program = plan.decode->program;
  int64_t& bytes = plan.memory[ArenaKind::decoded];
  if (program.logits != program::kNoValue)
    bytes = aligned(program.flows[static_cast<size_t>(program.logits)].bytes());
  plan.tokens_offset = bytes;
  plan.tokens_stride = aligned(plan.decode_shape.rows() * bytes_of(DType::i32));
  bytes += plan.tokens_stride * plan.decode_shape.groups;
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
  lay_out_messages(plan);
  lay_out_decoded(plan);
  memory[ArenaKind::batch] = plan.batch_layout.slot_bytes * batch_slots;
  memory[ArenaKind::scalars] = kGatheredOffset + kGatheredBytes * plan.topology.world_size();
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

void plan_training(const RunRequest& request, const OrderRules& orders, RunPlan& plan) {
  std::vector<int> sizes = request.smaller_batches;
  sizes.push_back(request.batch.microbatches);
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  TRIREME_ASSERT(sizes.back() == request.batch.microbatches, "the request names the largest");
  for (const int m : sizes) {
    const bool is_own = request.order && request.order->microbatches == m;
    plan.batches.push_back(plan_batch(
        is_own ? schedule::insert_communication(*request.order) : training_order(orders, m),
        request.at.pipeline));
  }
  plan.train = chunk_programs(plan, Mode::train);
  if (request.topology.data() > 1) {
    std::vector<Program> programs;
    for (const PlacedProgram& placed : plan.train) programs.push_back(placed.program);
    plan.buckets = gradient_buckets(programs, plan.table, plan.local, plan.reduction);
  }
  const RankView rank = {.table = plan.table,
                         .topology = plan.topology,
                         .layout = plan.layout,
                         .at = plan.at,
                         .local = plan.local};
  plan.reduce = place(reduce_program(rank, plan.buckets, plan.reduction));
  plan.step = place(step_program(request.optimizer, rank));
}

}  // namespace

double nominal_flops(const GptShape& shape, int64_t sequences) {
  const parallel::Topology alone;
  const Sizes sizes = sizes_of(shape, BatchShape(), alone, {}, Mode::train);
  const parallel::Chunk whole = parallel::equal_layout(shape.layers, 1, 1).chunks(0).front();
  const program::Totals sums =
      program::totals(chunk_program(sizes, whole, gpt_tensors(shape, alone)));
  return (sums.forward.nominal_flops + sums.backward.nominal_flops) *
         static_cast<double>(sequences);
}

RunPlan plan_run(const RunRequest& request) {
  require_possible(request.shape, request.batch, request.topology);
  RunPlan plan;
  plan.shape = request.shape;
  plan.batch = request.batch;
  plan.topology = request.topology;
  plan.at = request.at;
  plan.profile = request.profile;
  plan.table = gpt_tensors(request.shape, request.topology);
  const int p = request.topology.pipeline();
  plan.layout =
      request.layout ? *request.layout : parallel::equal_layout(request.shape.layers, p, 1);
  TRIREME_ASSERT(plan.layout.pipeline == p && plan.layout.layers() == request.shape.layers,
                 "a layout places the model's layers on the pipeline's ranks");
  plan.chunks = plan.layout.chunks(request.at.pipeline);
  plan.scatter_gather = request.scatter_gather && request.topology.tensor() > 1 && p > 1;
  plan.reduction = request.reduction;
  plan.local = local_tensors(plan.table, plan.chunks, request.topology, request.at);

  const OrderRules orders = {.stages = p,
                             .chunks = plan.layout.chunks_per_rank(),
                             .kind = request.kind,
                             .group = request.group};
  if (request.train) {
    plan_training(request, orders, plan);
  }
  if (request.evaluate) {
    plan.evaluation =
        plan_batch(evaluation_order(orders, request.batch.microbatches), request.at.pipeline);
    plan.evaluate = chunk_programs(plan, Mode::evaluate);
  }
  plan.decode_shape = request.decode;
  if (request.decode.capacity > 0) {
    TRIREME_ASSERT(plan.chunks.size() == 1, "decoding stages have one chunk");
    TRIREME_ASSERT(1 <= request.decode.groups && request.decode.groups <= request.decode.places,
                   "a group has places");
    const auto program = [&](Mode mode, int64_t rows) {
      const Sizes sizes =
          sizes_of(request.shape, request.decode, rows, request.topology, request.at, mode);
      PlacedProgram placed = place(chunk_program(sizes, plan.chunks.front(), plan.table));
      placed.own_logits_offset = rows * sizes.first_word * bytes_of(DType::f32);
      return placed;
    };
    plan.decode = program(Mode::decode, request.decode.rows());
    for (const int64_t rows : request.decode.prompt_rows)
      plan.prompts.push_back(program(Mode::prompt, rows));
  }

  lay_out_fields(plan);
  lay_out_memory(plan);
  return plan;
}

}  // namespace trireme::model
