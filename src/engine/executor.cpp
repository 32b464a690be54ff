#include "engine/executor.h"

#include <algorithm>

#include "core/error.h"

namespace trireme::engine {

Executor::Executor(ops::Backend backend, const RankMemory& memory, const Groups& groups,
                   std::span<const model::Bucket> buckets)
    : backend_(backend),
      memory_(memory),
      buckets_(buckets),
      stream_(backend.device->make_stream()),
      exchanges_(groups, *stream_, observers_),
      under_way_(kOthersUnderWay + buckets.size()) {}

Executor::~Executor() {
  // After a failure peers may still be about to reach into this rank's memory.
  exchanges_.withdraw();
  try {
    synchronize();
  } catch (...) {
    return;  // nobody asks for the results any more
  }
}

void Executor::run(const std::vector<LoweredOp>& ops, const Slots& slots, Role role, Part part) {
  Operands addresses = {};
  for (const LoweredOp& op : ops) {
    if (part == Part::input_gradient && op.op->half != program::Half::input_gradient) continue;
    if (part == Part::weight_gradient && op.op->half != program::Half::weight_gradient) continue;
    TRIREME_ASSERT(op.operands.size() <= kMostOperands, "an op kind has at most twelve operands");
    for (size_t i = 0; i < op.operands.size(); ++i) {
      const model::Address& operand = op.operands[i];
      addresses[i] = op.present[i] ? memory_.at(operand, slots.in(operand.arena)) : nullptr;
    }
    const auto operands = std::span(addresses).first(op.operands.size());
    if (observers_.empty()) {
      run_one(op, operands, role.accumulate);
    } else {
      const auto start = std::chrono::steady_clock::now();
      run_one(op, operands, role.accumulate);
      const OpRecord record = {op, operands, start, std::chrono::steady_clock::now()};
      for (Observer* observer : observers_) observer->op(record);
    }
    if (!role.last) continue;
    for (const model::Bucket& bucket : buckets_.subspan(op.first_bucket, op.buckets))
      start_bucket(bucket);
  }
}

void Executor::run_one(const LoweredOp& op, std::span<void* const> operands, bool accumulate) {
  if (op.is_exchange()) {
    run_collective(op, static_cast<std::byte*>(operands[0]));
    return;
  }
  op.kernel(*stream_, op.op->spec,
            {.operands = operands,
             .workspace = memory_.base(model::ArenaKind::workspace),
             .layer = op.layer,
             .accumulate = accumulate});
  exchanges_.progress();
}

void Executor::run_collective(const LoweredOp& op, std::byte* buffer) {
  if (const auto* reduce = std::get_if<program::AllReduceStart>(&op.op->spec)) {
    start(reduce->group, {.verb = comm::Verb::all_reduce,
                          .traffic = reduce->traffic,
                          .reduction = reduce->reduction,
                          .buffer = buffer,
                          .bytes = reduce->elements * bytes_of(DType::f32)});
    return;
  }
  if (const auto* gather = std::get_if<program::AllGatherStart>(&op.op->spec)) {
    start(gather->group, {.verb = comm::Verb::all_gather,
                          .traffic = gather->traffic,
                          .buffer = buffer,
                          .bytes = gather->elements * bytes_of(gather->dtype),
                          .cuts = gather->cuts});
    return;
  }
  const auto found = std::find_if(under_way_.begin(), under_way_.end(), [&](const UnderWay& one) {
    return one.exchange.buffer == buffer;
  });
  TRIREME_ASSERT(found != under_way_.end(), "a wait follows its start");
  exchanges_.wait(*found);
}

void Executor::start_bucket(const model::Bucket& bucket) {
  start(RankGroup::data, {.verb = comm::Verb::all_reduce,
                          .traffic = comm::Traffic::gradient,
                          .buffer = memory_.base(model::ArenaKind::gradients) + bucket.offset,
                          .bytes = bucket.elements * bytes_of(DType::f32)});
}

void Executor::start(RankGroup group, const comm::Exchange& exchange) {
  const auto free = std::find_if(under_way_.begin(), under_way_.end(),
                                 [](const UnderWay& one) { return one.is_none(); });
  TRIREME_ASSERT(free != under_way_.end(), "few collectives are under way at once");
  *free = exchanges_.start(group, exchange);
}

}  // namespace trireme::engine
