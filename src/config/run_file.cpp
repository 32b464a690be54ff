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

// What a stranger's value would be on a command line.
Words words_of(const Value& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return {*flag ? "true" : "false"};
  if (const auto* list = std::get_if<Words>(&value)) return *list;
  return {text_of(value)};
}

void read_line(const std::string& name, const toml::node& node, const Source& source,
               const Names& names, Reading& reading) {
  const Field* field = names.find(name);
  if (field == nullptr) {
    reading.add_stranger(names, name, words_of(value_of(name, node, source)), source);
    return;
  }
  if (!field->saved) {
    fail_usage({.where = source.text(),
                .what = format("{} stands in a run file", name),
                .rule = "it belongs to the command line only",
                .remedy = format("remove it here and write --{}", field->name)});
  }
  if (const Said* twice = reading.find(*field)) {
    const std::string why = field->aliases.empty()
                                ? "`-` and `_` are the same in names"
                                : format("it is called {} too", fmt::join(field->aliases, ", "));
    fail_usage({.where = source.text(),
                .what = format("{} is given twice", field->name),
                .rule = format("it stands in line {} too; {}", twice->source.line, why),
                .remedy = "remove one of them"});
  }
  reading.add(*field, source,
              [&] { return field->from_typed(value_of(name, node, source), source); });
}

}  // namespace

void read_run_file(std::string_view toml, const std::string& file, const Names& names,
                   Reading& reading, const std::set<std::string>& skipped) {
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

  for (const auto& entry : lines) {  // (a lambda cannot capture structured bindings in clang 14)
    const std::string& name = std::get<1>(entry);
    const toml::node& node = *std::get<2>(entry);
    const Source source = {file, std::get<0>(entry)};
    if (names.find(name) == nullptr && skipped.count(normalised(name)) > 0) continue;
    const bool understood = reading.troubles.keep([&] {
      if (normalised(name) == "run-format") {
        check_format(value_of(name, node, source), source);
      } else {
        read_line(name, node, source, names, reading);
      }
    });
    reading.whole = understood && reading.whole;
  }
}

}  // namespace trireme::config
