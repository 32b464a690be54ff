#include "program/op.h"

namespace trireme::program {

std::string_view name_of(const OpSpec& spec) {
  return std::visit([](const auto& op) { return std::string_view(op.kName); }, spec);
}

std::vector<Operand> operands_of(const OpSpec& spec) {
  return std::visit([](const auto& op) { return op.operands(); }, spec);
}

Cost cost_of(const OpSpec& spec) {
  return std::visit([](const auto& op) { return op.cost(); }, spec);
}

int64_t workspace_of(const OpSpec& spec, const BackendProfile& profile) {
  return std::visit([&](const auto& op) { return op.workspace_bytes(profile); }, spec);
}

double wire_bytes_of(const OpSpec& spec) {
  if (const auto* reduce = std::get_if<AllReduceStart>(&spec)) return reduce->wire_bytes();
  if (const auto* gather = std::get_if<AllGatherStart>(&spec)) return gather->wire_bytes();
  return 0;
}

}  // namespace trireme::program
