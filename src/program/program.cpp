#include "program/program.h"

#include <algorithm>

#include "core/error.h"
#include "core/format.h"

namespace trireme::program {
namespace {

void add_costs(const std::vector<Op>& ops, Cost& cost, double& wire) {
  for (const Op& op : ops) {
    const Cost one = cost_of(op.spec);
    cost.flops += one.flops;
    cost.nominal_flops += one.nominal_flops;
    cost.bytes += one.bytes;
    wire += wire_bytes_of(op.spec);
  }
}

}  // namespace

std::string_view name_of(ValueKind kind) {
  switch (kind) {
    case ValueKind::parameter:
      return "parameter";
    case ValueKind::gradient:
      return "gradient";
    case ValueKind::bucket:
      return "bucket";
    case ValueKind::first_moment:
      return "first moment";
    case ValueKind::second_moment:
      return "second moment";
    case ValueKind::flow:
      return "flow";
    case ValueKind::batch_field:
      return "batch field";
    case ValueKind::scalar:
      return "step scalar";
    case ValueKind::persistent:
      return "persistent";
    case ValueKind::local:
      return "local";
  }
  return "?";
}

std::string_view name_of(BatchField field) {
  switch (field) {
    case BatchField::tokens:
      return "tokens";
    case BatchField::labels:
      return "labels";
    case BatchField::loss_mask:
      return "loss_mask";
    case BatchField::positions:
      return "positions";
    case BatchField::segment_starts:
      return "segment_starts";
    case BatchField::samples:
      return "samples";
    case BatchField::places:
      return "places";
  }
  return "?";
}

std::string_view name_of(StepScalar scalar) {
  switch (scalar) {
    case StepScalar::seed:
      return "seed";
    case StepScalar::learning_rate:
      return "learning_rate";
    case StepScalar::gradient_scale:
      return "gradient_scale";
    case StepScalar::adam_step:
      return "adam_step";
    case StepScalar::loss_total:
      return "loss_total";
    case StepScalar::gradient_norm:
      return "gradient_norm";
    case StepScalar::clip_factor:
      return "clip_factor";
  }
  return "?";
}

DType dtype_of(BatchField field) {
  switch (field) {
    case BatchField::loss_mask:
      return DType::f32;
    case BatchField::samples:
      return DType::i64;
    default:
      return DType::i32;
  }
}

DType dtype_of(StepScalar scalar) {
  switch (scalar) {
    case StepScalar::seed:
      return DType::i32;
    case StepScalar::adam_step:
      return DType::i64;
    case StepScalar::loss_total:
    case StepScalar::gradient_norm:
      return DType::f64;
    default:
      return DType::f32;
  }
}

Totals totals(const Program& program) {
  std::vector<Totals> blocks;
  for (const Block& block : program.blocks) {
    Totals& one = blocks.emplace_back();
    add_costs(block.forward, one.forward, one.forward_wire_bytes);
    add_costs(block.backward, one.backward, one.backward_wire_bytes);
  }
  Totals sum;
  const auto add = [](Cost& to, const Cost& from) {
    to.flops += from.flops;
    to.nominal_flops += from.nominal_flops;
    to.bytes += from.bytes;
  };
  for (const Instance& instance : program.instances) {
    const Totals& one = blocks[static_cast<size_t>(instance.block)];
    add(sum.forward, one.forward);
    add(sum.backward, one.backward);
    sum.forward_wire_bytes += one.forward_wire_bytes;
    sum.backward_wire_bytes += one.backward_wire_bytes;
  }
  return sum;
}

int64_t workspace_bytes(const Program& program, const BackendProfile& profile) {
  int64_t most = 0;
  for (const Block& block : program.blocks) {
    for (const auto* ops : {&block.forward, &block.backward}) {
      for (const Op& op : *ops) most = std::max(most, workspace_of(op.spec, profile));
    }
  }
  return most;
}

BlockBuilder::Weight BlockBuilder::weight(const std::string& name, Shape shape) {
  return {.value = parameter(name, shape), .gradient = gradient(name, shape)};
}
int BlockBuilder::parameter(const std::string& name, Shape shape) {
  return add({.name = name, .kind = ValueKind::parameter, .shape = shape});
}
int BlockBuilder::gradient(const std::string& name, Shape shape) {
  return add({.name = name, .kind = ValueKind::gradient, .shape = shape});
}
int BlockBuilder::bucket(int number, int64_t elements) {
  return add({.name = format("bucket {}", number),
              .kind = ValueKind::bucket,
              .shape = {elements},
              .which = number});
}
int BlockBuilder::moment(ValueKind kind, const std::string& name, Shape shape) {
  return add({.name = name, .kind = kind, .shape = shape});
}
int BlockBuilder::flow(const std::string& name, Shape shape) {
  return add({.name = name, .kind = ValueKind::flow, .shape = shape});
}
int BlockBuilder::local(const std::string& name, Shape shape, DType dtype) {
  return add({.name = name, .kind = ValueKind::local, .dtype = dtype, .shape = shape});
}
int BlockBuilder::persistent(const std::string& name, Shape shape) {
  return add({.name = name, .kind = ValueKind::persistent, .shape = shape});
}
int BlockBuilder::field(BatchField field, Shape shape) {
  return add({.name = std::string(name_of(field)),
              .kind = ValueKind::batch_field,
              .dtype = dtype_of(field),
              .shape = shape,
              .which = static_cast<int>(field)});
}
int BlockBuilder::scalar(StepScalar scalar) {
  return add({.name = std::string(name_of(scalar)),
              .kind = ValueKind::scalar,
              .dtype = dtype_of(scalar),
              .shape = {1},
              .which = static_cast<int>(scalar)});
}

int BlockBuilder::add(Value value) {
  block_.values.push_back(std::move(value));
  return static_cast<int>(block_.values.size()) - 1;
}

void BlockBuilder::forward(const OpSpec& spec, std::vector<int> values) {
  block_.forward.push_back({.spec = spec, .values = std::move(values), .half = Half::none});
}
void BlockBuilder::input_gradient(const OpSpec& spec, std::vector<int> values) {
  block_.backward.push_back(
      {.spec = spec, .values = std::move(values), .half = Half::input_gradient});
}
void BlockBuilder::weight_gradient(const OpSpec& spec, std::vector<int> values) {
  block_.backward.push_back(
      {.spec = spec, .values = std::move(values), .half = Half::weight_gradient});
}

Block BlockBuilder::take() {
  std::vector<char> written(block_.values.size(), 0);  // by any op so far
  std::vector<char> by_weight_half(block_.values.size(),
                                   0);  // last written by a weight-gradient op
  for (const auto* ops : {&block_.forward, &block_.backward}) {
    for (const Op& op : *ops) {
      const std::vector<Operand> operands = operands_of(op.spec);
      const auto at = [&](size_t i) {
        return format("block {}, {}, operand {}", block_.name, name_of(op.spec), operands[i].name);
      };
      TRIREME_ASSERT(operands.size() == op.values.size(),
                     format("{}: operand count", name_of(op.spec)));
      for (size_t i = 0; i < operands.size(); ++i) {
        const Operand& operand = operands[i];
        if (op.values[i] == kNoValue) {
          TRIREME_ASSERT(operand.elements == 0, at(i) + " is missing");
          continue;
        }
        const auto v = static_cast<size_t>(op.values[i]);
        const Value& value = block_.values[v];
        TRIREME_ASSERT(value.dtype == operand.dtype, at(i) + " has another dtype");
        TRIREME_ASSERT(value.shape.elements() == operand.elements,
                       format("{} has {} elements, the op {}", at(i), value.shape.elements(),
                              operand.elements));
        const bool reads = operand.access == Access::read || operand.access == Access::update;
        if (reads && value.kind == ValueKind::local) {
          TRIREME_ASSERT(written[v] != 0, at(i) + " is read before it is written");
          TRIREME_ASSERT(op.half != Half::input_gradient || by_weight_half[v] == 0,
                         at(i) + ": an input gradient needs what a weight gradient makes");
        }
        TRIREME_ASSERT(operand.access != Access::add || value.kind == ValueKind::gradient,
                       at(i) + " is accumulated but not a gradient");
      }
      for (size_t i = 0; i < operands.size(); ++i) {
        if (op.values[i] == kNoValue || operands[i].access == Access::read) continue;
        const auto v = static_cast<size_t>(op.values[i]);
        written[v] = 1;
        by_weight_half[v] = op.half == Half::weight_gradient ? 1 : 0;
      }
    }
  }
  return std::move(block_);
}

}  // namespace trireme::program
