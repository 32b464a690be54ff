#include "config/megatron/page.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "config/help.h"
#include "config/names.h"
#include "core/format.h"
#include "core/table.h"

namespace trireme::config::megatron {
namespace {

constexpr std::array<const char*, 3> kStatusNames = {"same", "always", "refused"};
constexpr std::array<const char*, 3> kTakesNames = {"nothing", "one", "several"};

const char* name_of(Status status) {
  return kStatusNames[static_cast<size_t>(status)];
}

// "--x", "--x X", "--x X...".
std::string spelled(const Option& option) {
  constexpr std::array<const char*, 3> kBehind = {"", " X", " X..."};
  return format("--{}{}", option.name, kBehind[static_cast<size_t>(option.takes)]);
}

// In the order same, always, refused.
std::vector<const Option*> by_status(const Section& section) {
  std::vector<const Option*> options;
  for (const Option& option : section.options) options.push_back(&option);
  std::stable_sort(options.begin(), options.end(),
                   [](const Option* a, const Option* b) { return a->status < b->status; });
  return options;
}

// Whether an option of ours has this very name.
bool has_own_name(const Option& option, const Names& names) {
  const Field* field = names.find(option.name);
  return field != nullptr && field->name == option.name;
}

Names names_of(const Counterpart& counterpart) {
  Names names;
  for (const Group* group : counterpart.groups) {
    for (const Field& field : group->fields) names.add(field);
  }
  return names;
}

std::string meaning(const Option& option, const Names& names) {
  if (option.status == Status::same) {
    const auto [field, off, takes] = names.meaning(option.name);
    TRIREME_ASSERT(field != nullptr, "what is the same here is an option here");
    if (field->name == option.name) return field->help;
    return format("{} --{}", off ? "turns off" : "another name of", field->name);
  }
  std::string text = option.note;
  if (!option.values.empty()) text += format("; takes {}", fmt::join(option.values, ", "));
  if (option.instead.empty()) return text;
  return format("{}; {}{}", text, option.values.empty() ? "" : "for others ", option.instead);
}

size_t count(const Script& script, Status status) {
  size_t total = 0;
  for (const Section& section : script.sections) {
    total += static_cast<size_t>(
        std::count_if(section.options.begin(), section.options.end(),
                      [&](const Option& option) { return option.status == status; }));
  }
  return total;
}

std::string summary(const Script& script) {
  const size_t same = count(script, Status::same);
  const size_t always = count(script, Status::always);
  const size_t refused = count(script, Status::refused);
  return format("{} options: {} same, {} always, {} refused", same + always + refused, same, always,
                refused);
}

}  // namespace

std::string table_of(const Counterpart& counterpart) {
  using Align = TextTable::Align;
  std::string result = format("{} is {} here. {}.\n", counterpart.script->name, counterpart.command,
                              summary(*counterpart.script));
  const Names names = names_of(counterpart);
  for (const Section& section : counterpart.script->sections) {
    TextTable table({{"option", Align::left}, {"here", Align::left}, {"", Align::left}});
    for (const Option* option : by_status(section)) {
      table.row({spelled(*option), name_of(option->status), meaning(*option, names)});
    }
    result += format("\n{}\n{}", section.title, table.text(2));
  }
  return result;
}

std::string markdown_of(const Counterpart& counterpart) {
  std::string result = format("## `{}`: `{}`\n\n{}.\n", counterpart.script->name,
                              counterpart.command, summary(*counterpart.script));
  const Names names = names_of(counterpart);
  for (const Section& section : counterpart.script->sections) {
    result += format("\n### {}\n\n| option | here | |\n|---|---|---|\n", section.title);
    std::vector<std::pair<std::string, std::string>> rows;  // behind the names, the names
    for (const Option* option : by_status(section)) {
      const bool refused = option->status == Status::refused;
      std::string behind =
          format("{0}{1}{0} | {2}", refused ? "**" : "", name_of(option->status),
                 has_own_name(*option, names) ? "[options.md](options.md)"
                                              : markdown_cell(meaning(*option, names)));
      const std::string name = format("`{}`", spelled(*option));
      if (!rows.empty() && rows.back().first == behind) {
        rows.back().second += ", " + name;
      } else {
        rows.emplace_back(std::move(behind), name);
      }
    }
    for (const auto& [behind, options] : rows) result += format("| {} | {} |\n", options, behind);
  }
  return result;
}

std::string json_of(std::span<const Counterpart> counterparts) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Counterpart& counterpart : counterparts) {
    const Names names = names_of(counterpart);
    for (const Section& section : counterpart.script->sections) {
      for (const Option& option : section.options) {
        nlohmann::ordered_json entry = {{"script", counterpart.script->name},
                                        {"command", counterpart.command},
                                        {"section", section.title},
                                        {"name", option.name},
                                        {"status", name_of(option.status)}};
        if (option.status == Status::same) {
          entry["option"] = names.meaning(option.name).field->name;
        } else {
          entry["takes"] = kTakesNames[static_cast<size_t>(option.takes)];
          entry["values"] = option.values;
          entry["note"] = option.note;
          entry["instead"] = option.instead;
        }
        list.push_back(std::move(entry));
      }
    }
  }
  return list.dump(2) + "\n";
}

}  // namespace trireme::config::megatron
