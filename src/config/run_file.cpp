#include "config/run_file.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "config/toml_library.h"
#include "core/format.h"

namespace trireme::config {
namespace {

int64_t line_of(const toml::source_region& region) {
  return static_cast<int64_t>(region.begin.line);
}

// Numbers, strings and truth values; none for dates, lists and tables.
std::optional<Value> scalar(const toml::node& node) {
  if (const auto* flag = node.as_boolean()) return flag->get();
  if (const auto* whole = node.as_integer()) return static_cast<int64_t>(whole->get());
  if (const auto* real = node.as_floating_point()) return real->get();
  if (const auto* text = node.as_string()) return text->get();
  return std::nullopt;
}

Value value_of(const std::string& name, const toml::node& node, const Source& source) {
  if (const auto value = scalar(node)) return *value;
  Trouble trouble = {.where = source.text()};
  if (const auto* array = node.as_array()) {
    Words items;
    for (const toml::node& item : *array) {
      const auto value = scalar(item);
      if (!value || std::holds_alternative<bool>(*value)) {
        trouble.what = format("{} holds an item that is neither text nor number", name);
        trouble.rule = "lists hold words";
        trouble.remedy = "write the items between quotes";
        fail_usage(trouble);
      }
      items.push_back(text_of(*value));
    }
    return items;
  }
  if (node.is_table()) {
    trouble.what = format("{} is a table", name);
    trouble.rule = "a run file has no tables, only lines of the form name = value";
    trouble.remedy = "remove the header in brackets";
  } else {
    trouble.what = format("{} is a date or time", name);
    trouble.rule = "no option takes one";
    trouble.remedy = "write text between quotes";
  }
  fail_usage(trouble);
}

void check_format(const Value& value, const Source& source) {
  if (value == Value(kRunFormat)) return;
  fail_usage({.where = source.text(),
              .what = format("run-format is {}", text_of(value)),
              .rule = format("this trireme reads run-format {}", kRunFormat),
              .remedy = "use the trireme that wrote the file"});
}

}  // namespace

std::vector<Said> said_in_run_file(std::string_view toml, const std::string& file,
                                   const FieldIndex& known, const std::set<std::string>& skipped) {
  const toml::parse_result parsed = toml::parse(toml, file);
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    const Source source = {file, line_of(error.source())};
    fail_usage({.where = source.text(),
                .what = std::string(error.description()),
                .rule = "run files are written in TOML",
                .remedy = "write lines of the form name = value, text between quotes"});
  }
  std::vector<std::tuple<int64_t, std::string, const toml::node*>> lines;
  for (const auto& [key, node] : parsed.table()) {
    lines.emplace_back(line_of(key.source()), std::string(key.str()), &node);
  }
  std::sort(lines.begin(), lines.end());

  std::vector<Said> said;
  for (const auto& [line, name, node] : lines) {
    const Source source = {file, line};
    if (normalised(name) == "run-format") {
      check_format(value_of(name, *node, source), source);
      continue;
    }
    const Field* field = known.find(name);
    if (field == nullptr && skipped.count(normalised(name)) > 0) continue;
    if (field == nullptr && node->is_table()) (void)value_of(name, *node, source);
    if (field == nullptr) known.unknown(name, source);
    if (!field->saved) {
      fail_usage({.where = source.text(),
                  .what = format("{} stands in a run file", name),
                  .rule = "it belongs to the command line only",
                  .remedy = format("remove it here and write --{}", field->name)});
    }
    const auto twice = std::find_if(said.begin(), said.end(),
                                    [&](const Said& other) { return other.field == field; });
    if (twice != said.end()) {
      fail_usage({.where = source.text(),
                  .what = format("{} is given twice", field->name),
                  .rule = format("it stands in line {} too; `-` and `_` are the same in names",
                                 twice->source.line),
                  .remedy = "remove one of them"});
    }
    said.push_back({field, field->from_typed(value_of(name, *node, source), source), source});
  }
  return said;
}

}  // namespace trireme::config
