#include "engine/session.h"

#include <algorithm>
#include <vector>

#include "core/error.h"
#include "engine/reserve.h"

namespace trireme::engine {
namespace {

// Calls copy(local element, extent element, elements) for every run of a slice that is contiguous
// in local storage.
template <class Copy>
void for_each_run(const parallel::Slice& slice, Copy copy) {
  const int rank = slice.storage.rank();
  const int64_t run = rank > 0 ? slice.extent[rank - 1] : 1;
  const int64_t stride = rank > 0 ? slice.storage[rank - 1] : 1;
  const int64_t rows = rank > 1 ? slice.extent[0] : 1;
  TRIREME_ASSERT(rank <= 2, "parameters are vectors and matrices");
  for (int64_t row = 0; row < rows; ++row) copy(row * stride, row * run, run);
}

}  // namespace

Session::Session(model::RunPlan plan, ops::Backend backend, const Groups& groups)
    : plan_(std::move(plan)),
      backend_(backend),
      groups_(groups),
      ledger_(plan_),
      sent_before_(engine::bytes_sent(groups)),
      memory_(*backend.device, plan_.memory),
      // A microbatch's fields and a step's scalars: the host runs ahead by about as much.
      staging_(*backend.device,
               plan_.batch_layout.slot_bytes + plan_.memory[model::ArenaKind::scalars]),
      executor_(backend, memory_, groups, plan_.buckets),
      messages_(plan_, memory_, executor_.exchanges()),
      tokens_(plan_, memory_, executor_.exchanges(), staging_) {
  sent_before_(RankGroup::world, comm::Traffic::agreement) = 0;
  reserve_exchanges(plan_, groups_);
  for (size_t chunk = 0; chunk < plan_.train.size(); ++chunk) {
    train_.push_back(lower(plan_, plan_.train[chunk], *backend.kernels, static_cast<int>(chunk)));
  }
  for (const model::PlacedProgram& placed : plan_.evaluate)
    evaluate_.push_back(lower(plan_, placed, *backend.kernels));
  if (plan_.decode) decode_ = lower(plan_, *plan_.decode, *backend.kernels);
  for (const model::PlacedProgram& placed : plan_.prompts)
    prompts_.push_back(lower(plan_, placed, *backend.kernels));
  if (plan_.reduce) reduce_ = lower(plan_, *plan_.reduce, *backend.kernels);
  if (plan_.step) step_ = lower(plan_, *plan_.step, *backend.kernels);
  for (int rank = 0; rank <= plan_.topology.world_size(); ++rank)
    gather_cuts_.push_back(rank * model::kGatheredBytes);
  gathered_.resize(kGathered * static_cast<size_t>(plan_.topology.world_size()));
  if (!plan_.batches.empty()) {
    start_batch(plan_.largest_batch().microbatches);
  } else if (plan_.evaluation) {
    start_evaluation();
  }
}

model::WireBytes Session::bytes_sent() const {
  model::WireBytes bytes = engine::bytes_sent(groups_);
  bytes -= sent_before_;
  return bytes;
}

std::byte* Session::tensor_memory(TensorId id, TensorState state) const {
  const model::LocalTensor& tensor = plan_.local[id];
  const model::ArenaKind arena = state == TensorState::parameter  ? model::ArenaKind::parameters
                                 : state == TensorState::gradient ? model::ArenaKind::gradients
                                 : state == TensorState::first_moment
                                     ? model::ArenaKind::first_moments
                                     : model::ArenaKind::second_moments;
  return memory_.base(arena) +
         (state == TensorState::gradient ? tensor.gradient_offset : tensor.offset);
}

void Session::write_tensor(TensorId id, TensorState state, std::span<const float> values) {
  const parallel::Slice& slice = plan_.local[id].slice;
  TRIREME_ASSERT(static_cast<int64_t>(values.size()) == slice.extent.elements(),
                 "a value for each element of the slice");
  std::byte* memory = tensor_memory(id, state);
  if (slice.storage != slice.extent) {
    backend_.device->fill_zero(executor_.stream(), memory, slice.storage.elements() * 4);
  }
  for_each_run(slice, [&](int64_t local, int64_t from, int64_t count) {
    copy_in(memory + local * 4,
            std::as_bytes(values.subspan(static_cast<size_t>(from), static_cast<size_t>(count))));
  });
  executor_.synchronize();
}

void Session::read_tensor(TensorId id, TensorState state, std::span<float> values) {
  const parallel::Slice& slice = plan_.local[id].slice;
  TRIREME_ASSERT(static_cast<int64_t>(values.size()) == slice.extent.elements(),
                 "a value for each element of the slice");
  const std::byte* memory = tensor_memory(id, state);
  for_each_run(slice, [&](int64_t local, int64_t to, int64_t count) {
    copy_out(
        std::as_writable_bytes(values.subspan(static_cast<size_t>(to), static_cast<size_t>(count))),
        memory + local * 4);
  });
}

void Session::gather(std::span<const double> own, std::span<double> all, comm::Traffic traffic) {
  comm::Communicator& world = groups_[RankGroup::world];
  const auto ranks = static_cast<size_t>(world.size());
  TRIREME_ASSERT(own.size() <= kGathered && all.size() == own.size() * ranks,
                 "few numbers of each rank");
  std::byte* const memory = memory_.base(model::ArenaKind::scalars) + model::kGatheredOffset;
  staging_.copy_in(executor_.stream(), memory + world.rank() * model::kGatheredBytes,
                   std::as_bytes(own));
  UnderWay gathering =
      executor_.exchanges().start(RankGroup::world, {.verb = comm::Verb::all_gather,
                                                     .traffic = traffic,
                                                     .buffer = memory,
                                                     .bytes = gather_cuts_.back(),
                                                     .cuts = gather_cuts_});
  executor_.exchanges().wait(gathering);
  ledger_.note_gather(traffic);
  copy_out(std::as_writable_bytes(std::span(gathered_)), memory);
  for (size_t rank = 0; rank < ranks; ++rank) {
    for (size_t i = 0; i < own.size(); ++i)
      all[rank * own.size() + i] = gathered_[rank * kGathered + i];
  }
}

int Session::batch_slot_of(MicrobatchId microbatch) const {
  if (batch_ == nullptr) return 0;
  return batch_->assignment.batch_slot[static_cast<size_t>(microbatch.value)];
}

void Session::write_field_bytes(program::BatchField field, MicrobatchId microbatch,
                                std::span<const std::byte> bytes) {
  const auto f = static_cast<size_t>(field);
  if (plan_.batch_layout.bytes[f] == 0) return;  // no program of this rank reads it
  TRIREME_ASSERT(static_cast<int64_t>(bytes.size()) <= plan_.batch_layout.bytes[f],
                 "a batch field fits its place");
  const model::Address address = {.arena = model::ArenaKind::batch,
                                  .offset = plan_.batch_layout.offset[f],
                                  .stride = plan_.batch_layout.slot_bytes};
  staging_.copy_in(executor_.stream(), memory_.at(address, batch_slot_of(microbatch)), bytes);
}

void Session::start(const model::BatchPlan& batch, model::Mode mode) {
  batch_ = &batch;
  mode_ = mode;
  messages_.start(batch);
}

void Session::run(const schedule::Action& action) {
  groups_[RankGroup::world].set_action(action.text());
  for (Observer* observer : executor_.observers()) observer->begin(action);
  const Time start = std::chrono::steady_clock::now();
  run_ops(action);
  in_actions_ += std::chrono::steady_clock::now() - start;
  ledger_.note(mode_, action);
  for (Observer* observer : executor_.observers()) observer->end(action);
}

void Session::run_ops(const schedule::Action& action) {
  using schedule::ActionKind;
  if (schedule::is_computing(action.kind)) {
    compute(action);
  } else if (schedule::is_send(action.kind)) {
    messages_.send(action);
  } else if (schedule::is_receive(action.kind)) {
    messages_.receive(action);
  } else if (action.kind == ActionKind::reduce_wait) {
    messages_.finish();
    executor_.run(reduce_->forward, {});
  } else {
    executor_.run(step_->forward, {});
  }
}

void Session::compute(const schedule::Action& action) {
  using schedule::ActionKind;
  const auto chunk = static_cast<size_t>(action.chunk.value);
  const LoweredProgram& program = (mode_ == model::Mode::train ? train_ : evaluate_)[chunk];
  const auto microbatch = static_cast<size_t>(action.microbatch.value);
  Slots slots = {.activations = batch_->assignment.slot[chunk][microbatch],
                 .batch = batch_->assignment.batch_slot[microbatch]};
  messages_.put_buffers(action, slots);
  messages_.before(action);
  const Role role = {.accumulate = action.microbatch != batch_->first[chunk],
                     .last = action.microbatch == batch_->last[chunk]};
  TRIREME_ASSERT(action.kind == ActionKind::forward || action.kind == ActionKind::backward ||
                     plan_.train[chunk].slots.form == program::BackwardForm::split,
                 "the memory of a backward is planned for the form in which it runs");
  switch (action.kind) {
    case ActionKind::forward:
      executor_.run(program.forward, slots);
      break;
    case ActionKind::backward:
      executor_.run(program.backward, slots, role);
      break;
    case ActionKind::input_gradient:
      executor_.run(program.backward, slots, role, Part::input_gradient);
      break;
    default:
      executor_.run(program.backward, slots, role, Part::weight_gradient);
      break;
  }
}

void Session::read_result(int program::Program::*flow, std::span<float> values) {
  const model::PlacedProgram& placed = plan_.evaluate.back();
  const int f = placed.program.*flow;
  TRIREME_ASSERT(f != program::kNoValue, "the rank with the head has results");
  TRIREME_ASSERT(placed.program.flows[static_cast<size_t>(f)].bytes() ==
                     static_cast<int64_t>(values.size_bytes()),
                 "a result for each token");
  copy_out(std::as_writable_bytes(values), memory_.at(model::address_of_flow(placed, f)));
}

void Session::run_stage(const model::PlacedProgram& placed, const LoweredProgram& program) {
  const auto bytes = [&](int flow) {
    return placed.program.flows[static_cast<size_t>(flow)].bytes();
  };
  groups_[RankGroup::world].set_action(placed.program.name);
  if (placed.program.input != program::kNoValue)
    messages_.receive_activation_now(bytes(placed.program.input));
  messages_.finish();  // there is one buffer to send from
  executor_.run(program.forward, {});
  if (placed.program.output != program::kNoValue)
    messages_.send_activation_now(bytes(placed.program.output));
}

void Session::read_prompt(size_t program) {
  run_stage(plan_.prompts[program], prompts_[program]);
}

void Session::decode(std::span<float> logits) {
  run_stage(*plan_.decode, *decode_);
  const int flow = plan_.decode->program.logits;
  TRIREME_ASSERT(flow != program::kNoValue || logits.empty(), "the last stage has logits");
  if (logits.empty()) return;
  const int64_t words = plan_.shape.vocabulary;
  const int64_t rows = static_cast<int64_t>(logits.size()) / words;
  const int64_t planned = plan_.decode_shape.rows();
  TRIREME_ASSERT(static_cast<int64_t>(logits.size()) == rows * words && rows <= planned,
                 "a logit for each word of some rows");
  const std::byte* from = memory_.at(model::address_of_flow(*plan_.decode, flow));
  const int t = plan_.topology.tensor();
  const int64_t most = plan_.shape.padded_vocabulary(t) / t;  // words of a tensor rank
  for (int64_t first = 0; first < words; first += most) {
    const int64_t count = std::min(most, words - first);
    // With one tensor rank the rows are whole and lie as they are wanted.
    const int64_t at_once = count == words ? rows : 1;
    for (int64_t row = 0; row < rows; row += at_once) {
      const auto to = logits.subspan(static_cast<size_t>(row * words + first),
                                     static_cast<size_t>(at_once * count));
      backend_.device->copy_out(executor_.stream(), std::as_writable_bytes(to),
                                from + row * count * bytes_of(DType::f32));
    }
    from += planned * count * bytes_of(DType::f32);
  }
  executor_.synchronize();
}

}  // namespace trireme::engine
