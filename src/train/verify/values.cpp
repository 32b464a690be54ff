#include "train/verify/values.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <sstream>
#include <utility>

#include "core/error.h"
#include "core/format.h"

namespace trireme::train {
namespace {

using program::Access;
using program::Block;
using program::Op;
using program::ValueKind;

bool writes(const Op& op, int value) {
  const std::vector<program::Operand> operands = program::operands_of(op.spec);
  for (size_t i = 0; i < operands.size(); ++i) {
    if (op.values[i] == value && operands[i].access != Access::read) return true;
  }
  return false;
}

// Where an op stands in one of its block's lists; -1: not there.
int index_in(const std::vector<Op>& ops, const Op* op) {
  const auto found =
      std::find_if(ops.begin(), ops.end(), [&](const Op& one) { return &one == op; });
  return found == ops.end() ? -1 : static_cast<int>(found - ops.begin());
}

std::string prefix_of(const Block& block, uint32_t layer) {
  if (block.name == "embedding") return "embedding.";
  if (block.name == "head") return "";
  return format("decoder.layers.{}.", layer);
}

// "bias_dropout_add with decoder.layers.1.mlp.linear_fc2.bias".
std::string op_text(const Block& block, uint32_t layer, const Op& op) {
  std::string text(program::name_of(op.spec));
  const char* between = " with ";
  for (const int number : op.values) {
    if (number == program::kNoValue) continue;
    const program::Value& value = block.values[static_cast<size_t>(number)];
    if (value.kind != ValueKind::parameter) continue;
    text += between + prefix_of(block, layer) + value.name;
    between = ", ";
  }
  return text;
}

// The op that made a value, of those up to ops[last]: behind it a collective may have joined it.
std::string maker_text(const Block& block, uint32_t layer, const std::vector<Op>& ops, int last,
                       int value) {
  int at = last;
  while (at > 0 && (program::is_collective(ops[static_cast<size_t>(at)].spec) ||
                    !writes(ops[static_cast<size_t>(at)], value)))
    --at;
  const std::string made = op_text(block, layer, ops[static_cast<size_t>(at)]);
  return at == last ? made : made + ", joined over the group";
}

// Elements spread over the whole, a different place in each stride: rows and columns of any width
// are met.
int64_t sampled(int64_t k, int64_t samples, int64_t elements) {
  const int64_t from = k * elements / samples;
  const int64_t to = (k + 1) * elements / samples;
  return from + (k * 2654435761LL >> 7) % (to - from);
}

}  // namespace

std::string ValueKey::text() const {
  return format("{} {} {} {} {}", backward ? 1 : 0, position, microbatch, elements, name);
}

ValueKey ValueKey::parse(const std::string& text) {
  std::istringstream in(text);
  ValueKey key;
  in >> key.backward >> key.position >> key.microbatch >> key.elements;
  in.get();
  std::getline(in, key.name);
  return key;
}

ValueRecorder::ValueRecorder(engine::Session& session, const Roundings& roundings)
    : session_(session), roundings_(roundings) {
  session_.add_observer(*this);
}

ValueRecorder::~ValueRecorder() {
  session_.remove_observer(*this);
}

void ValueRecorder::op(const engine::OpRecord& record) {
  if (!schedule::is_computing(action_.kind)) return;
  const bool backward = action_.kind != schedule::ActionKind::forward;
  const Block& block = *record.op.block;
  const std::vector<Op>& ops = backward ? block.backward : block.forward;
  const int at = index_in(ops, record.op.op);
  TRIREME_ASSERT(at >= 0, "an action runs ops of its block");
  const std::vector<program::Operand> operands = program::operands_of(record.op.op->spec);
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].access == Access::read || !record.op.present[i]) continue;
    const program::Value& value = record.op.value(i);
    if (value.dtype != DType::f32) continue;
    if (value.kind != ValueKind::local && value.kind != ValueKind::flow) continue;
    const int number = record.op.op->values[i];
    // An op further down finishes it.
    if (std::any_of(ops.begin() + at + 1, ops.end(),
                    [&](const Op& later) { return writes(later, number); }))
      continue;
    keep(record, i, at, maker_text(block, record.op.layer, ops, at, number));
  }
}

void ValueRecorder::keep(const engine::OpRecord& record, size_t operand, int place_of_op,
                         std::string maker) {
  const program::Value& value = record.op.value(operand);
  const model::RunPlan& plan = session_.plan();
  const std::string& block = record.op.block->name;
  ValueKey key;
  key.backward = action_.kind != schedule::ActionKind::forward;
  key.position = block == "embedding" ? 0
                 : block == "head"
                     ? roundings_.head()
                     : 1 + 2 * static_cast<int>(record.op.layer) + (block == "mlp" ? 1 : 0);
  const bool in_layer = block != "embedding" && block != "head";
  key.name = in_layer ? format("decoder.layers.{}.{}.{}", record.op.layer, block, value.name)
                      : format("{}.{}", block, value.name);
  key.microbatch = int64_t{action_.microbatch.value} * plan.topology.data() + plan.at.data;
  key.elements = value.shape.elements();

  bytes_.resize(static_cast<size_t>(value.bytes()));
  session_.read_memory(record.operands[operand], bytes_);
  const auto element = [&](int64_t i) {
    float number;
    std::memcpy(&number, bytes_.data() + i * 4, 4);
    return number;
  };
  ValueSample sample = {.op = std::move(maker)};
  constexpr int64_t kOpsOfABlock = 1000;
  const int blocks = key.backward ? roundings_.head() - key.position : key.position;
  sample.order = blocks * kOpsOfABlock + place_of_op;
  for (int64_t i = 0; i < key.elements; ++i)
    sample.largest = std::max(sample.largest, std::abs(element(i)));
  const int64_t samples = samples_of(key.elements);
  for (int64_t k = 0; k < samples; ++k)
    sample.samples.push_back(element(sampled(k, samples, key.elements)));
  values_[key] = std::move(sample);
}

}  // namespace trireme::train
