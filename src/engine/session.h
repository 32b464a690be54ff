#pragma once
#include <memory>
#include <optional>
#include <span>

#include "comm/communicator.h"
#include "engine/executor.h"
#include "engine/groups.h"
#include "engine/ledger.h"
#include "engine/memory.h"
#include "engine/messages.h"
#include "engine/staging.h"
#include "engine/tokens.h"
#include "model/run_plan.h"
#include "ops/kernel.h"

namespace trireme::engine {

/// What is kept of a tensor on this rank.
enum class TensorState { parameter, gradient, first_moment, second_moment };

/// One rank at work: its plan, its arenas, its programs ready to run. The plan is executed as it
/// is; the session decides nothing.
class Session {
 public:
  /// Allocates and lowers. The groups are those of the plan's rank in its topology; their
  /// communicators outlive the session.
  Session(model::RunPlan plan, ops::Backend backend, const Groups& groups);

  [[nodiscard]] const model::RunPlan& plan() const { return plan_; }
  [[nodiscard]] const RankMemory& memory() const { return memory_; }
  [[nodiscard]] const Groups& groups() const { return groups_; }
  [[nodiscard]] device::Stream& stream() { return executor_.stream(); }

  /// Copies between the host and this rank's slice of a tensor, row-major over the slice's extent;
  /// padding is set to zero on writing. A tied tensor whose other holder is on this rank has that
  /// one's parameter and moments.
  void write_tensor(TensorId id, TensorState state, std::span<const float> values);
  void read_tensor(TensorId id, TensorState state, std::span<float> values);
  [[nodiscard]] int64_t slice_elements(TensorId id) const {
    return plan_.local[id].slice.extent.elements();
  }

  /// Device values of the step, set before its first action; read after its last. Reading waits for
  /// everything that is queued, writing does not.
  template <class T>
  void set_scalar(program::StepScalar scalar, T value);
  template <class T>
  [[nodiscard]] T scalar(program::StepScalar scalar);

  /// Fills all, [world rank][own.size()], with what every rank gives; at most kGathered numbers
  /// of each. Called by all ranks.
  void gather(std::span<const double> own, std::span<double> all, comm::Traffic traffic);
  static constexpr size_t kGathered = 8;

  /// Batch fields of a microbatch, in the layout that the programs declare ([s, b], or [b]). The
  /// values are the caller's again at once.
  template <class T>
  void write_field(program::BatchField field, MicrobatchId microbatch, std::span<const T> values) {
    write_field_bytes(field, microbatch, std::as_bytes(values));
  }

  /// Begins a global batch of m microbatches, one of the plan's; its actions follow. Until a batch
  /// is begun the largest is under way, or the evaluation's where nothing is trained.
  void start_batch(int microbatches) { start(plan_.batch_plan(microbatches), model::Mode::train); }
  /// Begins a batch of the plan's evaluation, between training batches; its actions follow.
  void start_evaluation() { start(*plan_.evaluation, model::Mode::evaluate); }
  /// One action of the schedule of the batch under way. A forward adds to the loss total.
  void run(const schedule::Action& action);
  /// Behind the last action of an evaluation, or the last decoding: what was sent is received.
  void finish_messages() { messages_.finish(); }
  /// What the evaluation's forward that ran last says of each token [s, b], where this rank has the
  /// head. losses: nats. target: the label's logit less the largest logit, exactly 0 where no word
  /// is likelier than the label. Of tokens without a loss, too.
  void read_losses(std::span<float> losses) { read_result(&program::Program::losses, losses); }
  void read_target(std::span<float> target) { read_result(&program::Program::target, target); }
  /// One token for each place of a group, through this rank's stage: fields of microbatch 0 in. On
  /// the last stage logits [rows, V] of the first rows out, as many as the span has; elsewhere it
  /// has none.
  void decode(std::span<float> logits);
  /// Tokens of prompts into the caches by the plan's prompt program of that number: fields of
  /// microbatch 0 in.
  void read_prompt(size_t program);
  /// Behind a decode(): the tokens that the last stage has chosen for the rows of a group of places
  /// go to all stages. All ranks start and wait in the same order; only the last stage's chosen
  /// count.
  void start_tokens(int group, std::span<const int32_t> chosen) {
    tokens_.start(group, chosen, executor_.stream());
  }
  /// tokens: of the first rows, as many as the span has.
  void wait_tokens(int group, std::span<int32_t> tokens) {
    copy_out(std::as_writable_bytes(tokens), tokens_.wait(group));
  }
  void synchronize() { executor_.synchronize(); }

  /// Where the host's time went so far.
  [[nodiscard]] HostTimes times() const {
    return {.actions = in_actions_, .exchanges = executor_.exchanges().times()};
  }
  /// How long a message between stages takes by itself.
  [[nodiscard]] const Exchanges::Message& message() const {
    return executor_.exchanges().message();
  }
  /// Bytes sent since the session was made, and what the plan says of all that it has done. Summed
  /// over all ranks they are equal, but for what ranks send each other outside the session. What
  /// they agree on counts from their start.
  [[nodiscard]] model::WireBytes bytes_sent() const;
  [[nodiscard]] model::WireBytes bytes_planned() const { return ledger_.planned(plan_); }

  /// The observer sees every action and op until it is removed. Not owned.
  void add_observer(Observer& observer) { executor_.observers().push_back(&observer); }
  void remove_observer(Observer& observer) { std::erase(executor_.observers(), &observer); }
  /// Bytes of the device's memory, behind everything that is queued. For observers.
  void read_memory(const void* memory, std::span<std::byte> out) {
    copy_out(out, static_cast<const std::byte*>(memory));
  }

 private:
  void start(const model::BatchPlan& batch, model::Mode mode);
  void run_ops(const schedule::Action& action);
  void compute(const schedule::Action& action);
  // A decoding program, between the stages before and behind this one.
  void run_stage(const model::PlacedProgram& placed, const LoweredProgram& program);
  void read_result(int program::Program::*flow, std::span<float> values);
  void write_field_bytes(program::BatchField field, MicrobatchId microbatch,
                         std::span<const std::byte> bytes);
  [[nodiscard]] int batch_slot_of(MicrobatchId microbatch) const;
  [[nodiscard]] std::byte* tensor_memory(TensorId id, TensorState state) const;
  void copy_in(std::byte* to, std::span<const std::byte> from) {
    backend_.device->copy_in(executor_.stream(), to, from);
  }
  void copy_out(std::span<std::byte> to, const std::byte* from) {
    backend_.device->copy_out(executor_.stream(), to, from);
    executor_.synchronize();
  }

  model::RunPlan plan_;
  // Under way; null where there is only a decoding program.
  const model::BatchPlan* batch_ = nullptr;
  model::Mode mode_ = model::Mode::train;
  ops::Backend backend_;
  Groups groups_;
  Ledger ledger_;
  model::WireBytes sent_before_;
  std::chrono::nanoseconds in_actions_ = {};
  RankMemory memory_;
  Staging staging_;
  Executor executor_;  // behind all that its work reaches
  Messages messages_;
  Tokens tokens_;
  std::vector<LoweredProgram> train_;
  std::vector<LoweredProgram> evaluate_;
  std::optional<LoweredProgram> decode_;
  std::vector<LoweredProgram> prompts_;
  std::vector<int64_t> gather_cuts_;  // a cache line for each rank
  std::vector<double> gathered_;
  std::optional<LoweredProgram> reduce_;
  std::optional<LoweredProgram> step_;
};

template <class T>
void Session::set_scalar(program::StepScalar scalar, T value) {
  TRIREME_ASSERT(bytes_of(program::dtype_of(scalar)) == sizeof(T),
                 "a step scalar has its own type");
  staging_.copy_in(executor_.stream(),
                   memory_.base(model::ArenaKind::scalars) + model::scalar_offset(scalar),
                   std::as_bytes(std::span(&value, 1)));
}

template <class T>
T Session::scalar(program::StepScalar scalar) {
  TRIREME_ASSERT(bytes_of(program::dtype_of(scalar)) == sizeof(T),
                 "a step scalar has its own type");
  T value;
  copy_out(std::as_writable_bytes(std::span(&value, 1)),
           memory_.base(model::ArenaKind::scalars) + model::scalar_offset(scalar));
  return value;
}

}  // namespace trireme::engine
