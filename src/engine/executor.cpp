#include "engine/executor.h"

#include <algorithm>

#include "core/error.h"

namespace trireme::engine {
Executor::Executor(ops::Backend backend, const RankMemory& memory, comm::Communicator& tensor_group)
    : backend_(backend),
      memory_(memory),
      tensor_group_(tensor_group),
      stream_(backend.device->make_stream()) {}

Executor::~Executor() {
  // After a failure peers may still be about to reach into this rank's memory.
  if (std::any_of(under_way_.begin(), under_way_.end(),
                  [](const auto& entry) { return entry.first != nullptr; })) {
    tensor_group_.withdraw();
  }
  try {
    synchronize();
  } catch (const Error&) {
    return;  // nobody asks for the results any more
  }
}

void Executor::run(const std::vector<LoweredOp>& ops, Slots slots, bool accumulate, Part part) {
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
      run_one(op, operands, accumulate);
      continue;
    }
    const auto start = std::chrono::steady_clock::now();
    run_one(op, operands, accumulate);
    const OpRecord record = {op, operands, start, std::chrono::steady_clock::now()};
    for (Observer* observer : observers_) observer->op(record);
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
  tensor_group_.progress();
}

void Executor::run_collective(const LoweredOp& op, std::byte* buffer) {
  if (const auto* start = std::get_if<program::AllReduceStart>(&op.op->spec)) {
    const auto free = std::find_if(under_way_.begin(), under_way_.end(),
                                   [](const auto& entry) { return entry.first == nullptr; });
    TRIREME_ASSERT(free != under_way_.end(), "few collectives are under way at once");
    *free = {buffer, tensor_group_.start_all_reduce(*stream_, reinterpret_cast<float*>(buffer),
                                                    start->elements, start->reduction)};
    return;
  }
  const auto found = std::find_if(under_way_.begin(), under_way_.end(),
                                  [&](const auto& entry) { return entry.first == buffer; });
  TRIREME_ASSERT(found != under_way_.end(), "a wait follows its start");
  tensor_group_.wait(found->second, *stream_);
  found->first = nullptr;
}

}  // namespace trireme::engine
