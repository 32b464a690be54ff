#include "train/dump.h"

#include <utility>

#include "checkpoint/safetensors.h"
#include "core/format.h"

namespace trireme::train {

Dump::Dump(engine::Session& session, Path folder) : session_(session), root_(std::move(folder)) {}

void Dump::start_iteration(int64_t iteration) {
  folder_ = root_ / format("iter_{:07}", iteration);
  make_folder(folder_);
}

void Dump::begin(const schedule::Action& action) {
  values_.clear();
  if (action.kind != schedule::ActionKind::step) return;
  write_tensors("weights", engine::TensorState::parameter);
  write_tensors("gradients", engine::TensorState::gradient);
}

void Dump::op(const engine::OpRecord& record) {
  if (program::starts_exchange(record.op.op->spec)) return;  // other ranks reach into its buffer
  const std::vector<program::Operand> operands = program::operands_of(record.op.op->spec);
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].access == program::Access::read || record.operands[i] == nullptr) continue;
    const program::Value& value = record.op.value(i);
    const std::string name = format("{}.{}.{}", record.op.layer, record.op.block->name, value.name);
    Stored& stored = values_[name];
    stored.spec.name = name;
    stored.spec.dtype = value.dtype;
    stored.spec.shape = value.shape;
    stored.bytes.resize(static_cast<size_t>(value.bytes()));
    session_.read_memory(record.operands[i], stored.bytes);
  }
}

void Dump::end(const schedule::Action& action) {
  write(action.text(), values_);
  values_.clear();
}

void Dump::write(const std::string& stem, const Values& values) const {
  std::vector<checkpoint::TensorSpec> specs;
  for (const auto& [name, stored] : values) specs.push_back(stored.spec);
  AtomicFile file(folder_ / (stem + ".safetensors"));
  checkpoint::SafetensorsWriter writer([&](std::span<const std::byte> bytes) { file.write(bytes); },
                                       std::move(specs),
                                       {{"format", "trireme-dump"}, {"version", "1"}});
  for (const auto& [name, stored] : values) writer.write(stored.bytes);
  writer.finish();
  file.commit();
}

void Dump::write_tensors(const std::string& stem, engine::TensorState state) {
  const model::RunPlan& plan = session_.plan();
  Values values;
  for (int i = 0; i < plan.table.size(); ++i) {
    const TensorId id{i};
    const parallel::Tensor& tensor = plan.table[id];
    if (!plan.local.holds(id)) continue;
    // The second use of a tied tensor has a gradient of its own and no weight.
    if (tensor.tied_to && state == engine::TensorState::parameter) continue;
    std::vector<float> numbers(static_cast<size_t>(session_.slice_elements(id)));
    session_.read_tensor(id, state, numbers);
    const auto bytes = std::as_bytes(std::span(numbers));
    Stored& stored = values[tensor.name];
    stored.spec.name = tensor.name;
    stored.spec.shape = plan.local[id].slice.extent;
    stored.bytes.assign(bytes.begin(), bytes.end());
  }
  write(stem, values);
}

}  // namespace trireme::train
