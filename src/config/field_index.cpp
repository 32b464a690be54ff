#include "config/field_index.h"

#include "config/nearest.h"
#include "core/format.h"

namespace trireme::config {

void FieldIndex::add(const Field& field) {
  const bool added = fields_.emplace(field.name, &field).second;
  TRIREME_ASSERT(added, "two options of a subcommand have one name");
}

const Field* FieldIndex::find(std::string_view name) const {
  const auto it = fields_.find(normalised(name));
  return it == fields_.end() ? nullptr : it->second;
}

void FieldIndex::unknown(std::string_view name, const Source& source) const {
  Words known;
  for (const auto& [known_name, field] : fields_) {
    if (field->saved || source.file.empty()) known.push_back(known_name);
    if (field->kind == Kind::flag && source.file.empty()) known.push_back("no-" + known_name);
  }
  const auto meant = nearest(normalised(name), known);
  fail_usage({.where = source.text(),
              .what = format("there is no option {}", source.spelled(name)),
              .rule = "",
              .remedy = meant ? format("the nearest is {}", source.spelled(*meant))
                              : "--help lists all options"});
}

}  // namespace trireme::config
