#include "train/nonfinite.h"

#include <cmath>
#include <cstring>

#include "core/format.h"
#include "program/op.h"

namespace trireme::train {
namespace {

// Index of the first element that is not finite; -1: none.
template <class T>
int64_t first_bad(const std::vector<std::byte>& bytes) {
  for (size_t at = 0; at < bytes.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof(T));
    if (!std::isfinite(value)) return static_cast<int64_t>(at / sizeof(T));
  }
  return -1;
}

template <class T>
double element(const std::vector<std::byte>& bytes, int64_t index) {
  T value;
  std::memcpy(&value, bytes.data() + static_cast<size_t>(index) * sizeof(T), sizeof(T));
  return value;
}

}  // namespace

NonFiniteFinder::NonFiniteFinder(engine::Session& session) : session_(session) {
  session_.add_observer(*this);
}

NonFiniteFinder::~NonFiniteFinder() {
  session_.remove_observer(*this);
}

void NonFiniteFinder::begin(const schedule::Action& action) {
  if (found()) return;
  action_ = action;
  ops_ = 0;
}

std::string NonFiniteFinder::place_in_flow() const {
  const model::RunPlan& plan = session_.plan();
  const int stage = action_.chunk.value * plan.topology.pipeline() + plan.at.pipeline;
  const bool forward = action_.kind == schedule::ActionKind::forward;
  const bool reduces = !schedule::has_microbatch(action_.kind);
  return format("{}{:09}{:09}{:09}{:09}{:09}",
                forward   ? 0
                : reduces ? 2
                          : 1,
                action_.microbatch.value, plan.at.data,
                forward ? stage : plan.layout.stages() - 1 - stage, ops_, plan.at.tensor);
}

void NonFiniteFinder::op(const engine::OpRecord& record) {
  if (found()) return;
  ++ops_;
  if (program::starts_exchange(record.op.op->spec)) return;  // other ranks reach into its buffer
  const std::vector<program::Operand> operands = program::operands_of(record.op.op->spec);
  for (size_t i = 0; i < operands.size(); ++i) {
    const program::Operand& operand = operands[i];
    const bool wide = operand.dtype == DType::f64;
    if (operand.access == program::Access::read || record.operands[i] == nullptr) continue;
    if (operand.dtype != DType::f32 && !wide) continue;
    // Of an operand that is written in part, the rest may be of other ops or not yet written.
    if (operand.access == program::Access::part) continue;
    bytes_.resize(static_cast<size_t>(operand.elements * bytes_of(operand.dtype)));
    session_.read_memory(record.operands[i], bytes_);
    const int64_t bad = wide ? first_bad<double>(bytes_) : first_bad<float>(bytes_);
    if (bad < 0) continue;
    const double value = wide ? element<double>(bytes_, bad) : element<float>(bytes_, bad);
    text_ =
        format("{} in {}, {} of {}, layer {}, microbatch {} ({}), element {} of {}", value,
               record.op.value(i).name, operand.name, program::name_of(record.op.op->spec),
               record.op.layer, action_.microbatch.value, action_.text(), bad, operand.elements);
    return;
  }
}

}  // namespace trireme::train
