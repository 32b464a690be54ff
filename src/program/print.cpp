#include "program/print.h"

#include <algorithm>
#include <map>

#include "core/format.h"
#include "core/log.h"
#include "core/table.h"

namespace trireme::program {
namespace {

using Align = TextTable::Align;

std::string value_name(const Block& block, int v) {
  if (v == kNoValue) return "-";
  const Value& value = block.values[static_cast<size_t>(v)];
  switch (value.kind) {
    case ValueKind::gradient:
      return "d(" + value.name + ")";
    case ValueKind::first_moment:
      return "m";
    case ValueKind::second_moment:
      return "v";
    default:
      return value.name;
  }
}

// "y, mean, rstd = layer_norm(x, gamma, beta)"; "(+)=" for what is accumulated, "<-" for what is
// updated in place.
std::string op_text(const Block& block, const Op& op) {
  const std::vector<Operand> operands = operands_of(op.spec);
  std::string outputs;
  std::string inputs;
  const char* sign = "=";
  for (size_t i = 0; i < operands.size(); ++i) {
    if (op.values[i] == kNoValue) continue;
    const bool reads = operands[i].access == Access::read;
    std::string& list = reads ? inputs : outputs;
    list += (list.empty() ? "" : ", ") + value_name(block, op.values[i]);
    if (operands[i].access == Access::add) sign = "(+)=";
    if (operands[i].access == Access::update || operands[i].access == Access::part) sign = "<-";
  }
  return format("{} {} {}({})", outputs, sign, name_of(op.spec), inputs);
}

// A name with its layer left open: "decoder.layers.7.mlp" as "decoder.layers.N.mlp".
std::string without_layer(const std::string& text) {
  static constexpr std::string_view kLayers = "layers.";
  std::string out;
  size_t at = 0;
  for (size_t found = 0; (found = text.find(kLayers, at)) != std::string::npos;) {
    size_t end = found + kLayers.size();
    out += text.substr(at, end - at);
    const size_t digits = end;
    while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
    if (end > digits) out += 'N';
    at = end;
  }
  return out + text.substr(at);
}

// Rows of a table, those that differ in the layer only joined: the step program has an op for each
// tensor.
class JoinedRows {
 public:
  void add(std::vector<std::string> cells) {
    std::string key;
    for (std::string& cell : cells) {
      cell = without_layer(cell);
      key += cell + '\n';
    }
    const auto [found, is_new] = index_.try_emplace(key, rows_.size());
    if (is_new) rows_.emplace_back(std::move(cells), 0);
    rows_[found->second].second += 1;
  }
  // The first cell says how many a row stands for.
  void put_into(TextTable& table) {
    for (auto& [cells, count] : rows_) {
      if (count > 1) cells[0] += format("  ({} times)", count);
      table.row(std::move(cells));
    }
  }

 private:
  std::vector<std::pair<std::vector<std::string>, int>> rows_;
  std::map<std::string, size_t> index_;
};

std::string flops_text(double flops) {
  return flops == 0 ? "" : count_text(flops);
}

void ops_table(std::string& text, const Block& block, const std::vector<Op>& ops,
               const char* title) {
  if (ops.empty()) return;
  TextTable table({{title, Align::left},
                   {"", Align::left},
                   {"FLOP", Align::right},
                   {"nominal", Align::right},
                   {"moved", Align::right},
                   {"sent", Align::right}});
  JoinedRows rows;
  for (const Op& op : ops) {
    const Cost cost = cost_of(op.spec);
    const char* half = op.half == Half::input_gradient    ? "I"
                       : op.half == Half::weight_gradient ? "W"
                                                          : "";
    const double sent = wire_bytes_of(op.spec);
    rows.add({op_text(block, op), half, flops_text(cost.flops), flops_text(cost.nominal_flops),
              cost.bytes == 0 ? "" : bytes_text(cost.bytes), sent == 0 ? "" : bytes_text(sent)});
  }
  rows.put_into(table);
  text += table.text(2) + "\n";
}

std::string place_text(const Placement& placement, BackwardForm form) {
  switch (placement.area) {
    case Placement::Area::none:
      return "";
    case Placement::Area::saved:
      return format("{}, saved at {}", placement.uses.text(form), placement.offset);
    case Placement::Area::persistent:
      return format("persistent at {}", placement.offset);
    case Placement::Area::apart:
      return format("{}, in a buffer of its own", placement.uses.text(form));
    case Placement::Area::temporary:
      return format("{}, temporary at {}", placement.uses.text(form), placement.offset);
  }
  return "";
}

void values_table(std::string& text, const Block& block, const std::vector<Placement>& placements,
                  BackwardForm form) {
  TextTable table({{"value", Align::left},
                   {"kind", Align::left},
                   {"dtype", Align::left},
                   {"shape", Align::left},
                   {"bytes", Align::right},
                   {"lifetime and place", Align::left}});
  JoinedRows rows;
  for (size_t v = 0; v < block.values.size(); ++v) {
    const Value& value = block.values[v];
    const bool like_parameter = value.kind == ValueKind::gradient ||
                                value.kind == ValueKind::first_moment ||
                                value.kind == ValueKind::second_moment;
    if (like_parameter || value.kind == ValueKind::scalar) continue;
    rows.add({value.name, std::string(name_of(value.kind)), std::string(name_of(value.dtype)),
              value.shape.text(), bytes_text(static_cast<double>(value.bytes())),
              place_text(placements[v], form)});
  }
  rows.put_into(table);
  text += table.text(2) + "\n";
}

// "0-11" for runs of layers.
std::string runs(const std::vector<int>& layers) {
  std::string text;
  for (size_t i = 0; i < layers.size();) {
    size_t j = i;
    while (j + 1 < layers.size() && layers[j + 1] == layers[j] + 1) ++j;
    text += format("{}{}", text.empty() ? "" : ", ", layers[i]);
    if (j > i) text += format("-{}", layers[j]);
    i = j + 1;
  }
  return text;
}

}  // namespace

std::string print(const Program& program, const SlotPlan& slots) {
  std::string text = format("program {}: {} blocks, {} instances\n\n", program.name,
                            program.blocks.size(), program.instances.size());
  for (size_t b = 0; b < program.blocks.size(); ++b) {
    const Block& block = program.blocks[b];
    std::vector<int> layers;
    for (const Instance& instance : program.instances) {
      if (instance.block == static_cast<int>(b)) layers.push_back(instance.layer);
    }
    text += format("block {}", block.name);
    if (layers.size() > 1) text += format(", {} times: layers {}", layers.size(), runs(layers));
    text += "\n";
    values_table(text, block, slots.locals[b], slots.form);
    ops_table(text, block, block.forward, "forward");
    ops_table(text, block, block.backward, "backward");
  }
  const Totals sums = totals(program);
  TextTable table({{"sums", Align::left},
                   {"FLOP", Align::right},
                   {"nominal", Align::right},
                   {"moved", Align::right},
                   {"sent", Align::right}});
  const auto row = [&](const char* name, const Cost& cost, double wire) {
    table.row({name, count_text(cost.flops), count_text(cost.nominal_flops), bytes_text(cost.bytes),
               bytes_text(wire)});
  };
  row("forward", sums.forward, sums.forward_wire_bytes);
  row("backward", sums.backward, sums.backward_wire_bytes);
  text += table.text(2);
  text += format("\n  saved for backward, per microbatch in flight: {}; temporary: {}\n",
                 bytes_text(static_cast<double>(slots.saved_bytes)),
                 bytes_text(static_cast<double>(slots.temporary_bytes)));
  return text;
}

}  // namespace trireme::program
