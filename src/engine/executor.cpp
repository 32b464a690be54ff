#include "engine/executor.h"

#include <algorithm>

#include "core/error.h"

namespace trireme::engine {

Executor::Executor(ops::Backend backend, const RankMemory& memory, const Groups& groups,
                   std::span<const model::Bucket> buckets)
    : backend_(backend),
      memory_(memory),
      groups_(groups),
      buckets_(buckets),
      stream_(backend.device->make_stream()),
      under_way_(kOthersUnderWay + buckets.size()) {}

Executor::~Executor() {
  // After a failure peers may still be about to reach into this rank's memory.
  for (const UnderWay& one : under_way_) {
    if (one.buffer != nullptr) one.group->withdraw();
  }
  try {
    synchronize();
  } catch (const Error&) {
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
  if (op.kernel == nullptr) {
    run_collective(op, static_cast<std::byte*>(operands[0]));
    return;
  }
  op.kernel(*stream_, op.op->spec,
            {.operands = operands,
             .workspace = memory_.base(model::ArenaKind::workspace),
             .layer = op.layer,
             .accumulate = accumulate});
  groups_[RankGroup::tensor].progress();
}

void Executor::run_collective(const LoweredOp& op, std::byte* buffer) {
  if (const auto* reduce = std::get_if<program::AllReduceStart>(&op.op->spec)) {
    comm::Communicator& group = groups_[reduce->group];
    keep(buffer, group,
         group.start_all_reduce(*stream_, reinterpret_cast<float*>(buffer), reduce->elements,
                                reduce->reduction, reduce->traffic));
    return;
  }
  if (const auto* gather = std::get_if<program::AllGatherStart>(&op.op->spec)) {
    comm::Communicator& group = groups_[gather->group];
    keep(buffer, group,
         group.start_all_gather(*stream_, buffer, gather->elements * bytes_of(gather->dtype),
                                gather->traffic, gather->cuts));
    return;
  }
  const auto found = std::find_if(under_way_.begin(), under_way_.end(),
                                  [&](const UnderWay& one) { return one.buffer == buffer; });
  TRIREME_ASSERT(found != under_way_.end(), "a wait follows its start");
  found->group->wait(found->request, *stream_);
  found->buffer = nullptr;
}

void Executor::start_bucket(const model::Bucket& bucket) {
  std::byte* const buffer = memory_.base(model::ArenaKind::gradients) + bucket.offset;
  comm::Communicator& group = groups_[RankGroup::data];
  keep(buffer, group,
       group.start_all_reduce(*stream_, reinterpret_cast<float*>(buffer), bucket.elements,
                              program::Reduction::sum, comm::Traffic::gradient));
}

void Executor::keep(const std::byte* buffer, comm::Communicator& group, comm::Request request) {
  const auto free = std::find_if(under_way_.begin(), under_way_.end(),
                                 [](const UnderWay& one) { return one.buffer == nullptr; });
  TRIREME_ASSERT(free != under_way_.end(), "few collectives are under way at once");
  *free = {buffer, &group, request};
}

}  // namespace trireme::engine
