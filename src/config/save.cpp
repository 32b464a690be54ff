// The effective options as text: a run file, JSON.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "config/help.h"
#include "config/run_file.h"
#include "core/format.h"

namespace trireme::config {
namespace {

// A basic string of TOML.
std::string toml_string(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      result += format("\\u{:04X}", static_cast<unsigned>(c));
    } else {
      result += c;
    }
  }
  return result + "\"";
}

std::string toml_of(const Value& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* text = std::get_if<std::string>(&value)) return toml_string(*text);
  if (const auto* list = std::get_if<Words>(&value)) {
    std::string items;
    for (const std::string& item : *list) items += (items.empty() ? "" : ", ") + toml_string(item);
    return "[" + items + "]";
  }
  std::string number = text_of(value);
  // A real number keeps its type.
  if (std::holds_alternative<double>(value) && number.find_first_of(".en") == std::string::npos) {
    number += ".0";
  }
  return number;
}

nlohmann::ordered_json json_of(const Value& value) {
  return std::visit(
      [](const auto& held) -> nlohmann::ordered_json {
        if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::monostate>) {
          return nullptr;
        } else {
          return held;
        }
      },
      value);
}

}  // namespace

std::string save_toml(std::span<const GroupView> groups) {
  std::string result = format("run-format = {}\n", kRunFormat);
  for (const GroupView& view : groups) {
    std::string lines;
    for (const Field& field : view.group->fields) {
      const Value value = field.get(view.options);
      const bool empty_path = field.kind == Kind::path && value == Value(std::string());
      if (!field.saved || empty_path || std::holds_alternative<std::monostate>(value)) continue;
      lines += format("{} = {}\n", field.name, toml_of(value));
    }
    if (!lines.empty()) result += format("\n# {}\n{}", view.group->title, lines);
  }
  return result;
}

std::string option_lines(std::span<const GroupView> groups) {
  std::string lines;
  for (const GroupView& view : groups) {
    for (const Field& field : view.group->fields) {
      const Value value = field.get(view.options);
      if (std::holds_alternative<std::monostate>(value)) continue;
      lines += format("{} = {}\n", field.name, toml_of(value));
    }
  }
  return lines;
}

std::string json_text(std::span<const GroupView> groups) {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  for (const GroupView& view : groups) {
    for (const Field& field : view.group->fields) {
      if (!field.saved) continue;
      std::string name = field.name;
      std::replace(name.begin(), name.end(), '-', '_');
      object[name] = json_of(field.get(view.options));
    }
  }
  return object.dump(2) + "\n";
}

std::string json_of(std::span<const Chapter> chapters) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Chapter& chapter : chapters) {
    nlohmann::ordered_json fields = nlohmann::ordered_json::array();
    for (const Field& field : chapter.group->fields) {
      fields.push_back({{"name", field.name},
                        {"aliases", field.aliases},
                        {"takes", field.takes()},
                        {"unit", field.unit},
                        {"range", field.range.text()},
                        {"words", field.words},
                        {"default", field.default_text()},
                        {"help", field.help}});
    }
    Words commands;
    for (const Taker& taker : chapter.takers) commands.push_back(taker.command);
    list.push_back({{"title", chapter.group->title},
                    {"about", chapter.group->about},
                    {"commands", commands},
                    {"options", fields}});
  }
  return list.dump(2) + "\n";
}

}  // namespace trireme::config
