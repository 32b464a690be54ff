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

}  // namespace trireme::program
