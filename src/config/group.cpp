#include "config/group.h"

#include <algorithm>

#include "core/format.h"

namespace trireme::config {

const Field* Group::find(std::string_view name) const {
  const auto it = std::find_if(fields.begin(), fields.end(),
                               [&](const Field& field) { return field.is_called(name); });
  return it == fields.end() ? nullptr : &*it;
}

std::vector<Difference> differences(GroupView left, GroupView right) {
  TRIREME_ASSERT(left.group == right.group, "only options of one group can be compared");
  std::vector<Difference> result;
  for (const Field& field : left.group->fields) {
    const Value a = field.get(left.options);
    const Value b = field.get(right.options);
    if (a != b) result.push_back({field.name, text_of(a), text_of(b)});
  }
  return result;
}

void check_fields(GroupView options, const std::string& where) {
  for (const Field& field : options.group->fields) {
    const Value value = field.get(options.options);
    if (!std::holds_alternative<std::monostate>(value)) {
      // The name of the place stands where a file's name would.
      (void)field.from_typed(value, {.file = where});
    }
  }
}

void refuse(const Conflict& conflict, const std::string& where) {
  fail_usage(
      {.where = where, .what = conflict.what, .rule = conflict.rule, .remedy = conflict.remedy});
}

}  // namespace trireme::config
