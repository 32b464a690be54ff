#include "app/pages.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "config/groups/all.h"
#include "config/groups/common.h"
#include "config/help.h"
#include "config/megatron/page.h"
#include "core/environment.h"
#include "core/format.h"
#include "core/table.h"

namespace trireme::app {
namespace {

using config::Chapter;
using config::megatron::Counterpart;

std::string full_name(const Command& command) {
  return "trireme " + command.text.name;
}

// The groups that have a page's order, then those of single subcommands, each with its takers.
std::vector<Chapter> chapters_of(std::span<const Command> commands) {
  std::vector<Chapter> chapters;
  const auto chapter_of = [&](const config::Group* group) -> Chapter& {
    const auto it = std::find_if(chapters.begin(), chapters.end(),
                                 [&](const Chapter& chapter) { return chapter.group == group; });
    return it != chapters.end() ? *it : chapters.emplace_back(Chapter{.group = group});
  };
  for (const config::Group* group : config::all_groups()) (void)chapter_of(group);
  for (const Command& command : commands) {
    const CommandOptions options = command.options();
    for (const config::Group* group : options.groups) {
      config::Taker taker = {.command = full_name(command)};
      for (const std::string& name : options.required) {
        if (group->find(name) != nullptr) taker.required.push_back(name);
      }
      chapter_of(group).takers.push_back(std::move(taker));
    }
  }
  return chapters;
}

std::string options_page(PageForm form, std::span<const Command> commands) {
  const std::vector<Chapter> chapters = chapters_of(commands);
  if (form == PageForm::json) return config::json_of(chapters);
  std::string page;
  if (form == PageForm::markdown) {
    page =
        "# Options\n\nPrinted by `trireme options --markdown`. The same names, without the dashes, "
        "are the lines of a run file for `--config`. Megatron-LM's options: "
        "[megatron.md](megatron.md); environment variables: [environment.md](environment.md).\n";
  }
  for (const Chapter& chapter : chapters) {
    if (!page.empty()) page += '\n';
    page += form == PageForm::markdown ? config::markdown_of(chapter) : config::table_of(chapter);
  }
  return page;
}

std::string megatron_page(PageForm form, std::span<const Command> commands) {
  std::vector<Counterpart> counterparts;
  for (const Command& command : commands) {
    CommandOptions options = command.options();
    // Of those that stand for one script the first tells of its options.
    const auto stands_for = [&](const Counterpart& other) {
      return other.script == options.script;
    };
    if (options.script == nullptr ||
        std::any_of(counterparts.begin(), counterparts.end(), stands_for))
      continue;
    counterparts.push_back({.script = options.script,
                            .command = full_name(command),
                            .groups = std::move(options.groups)});
  }
  if (form == PageForm::json) return config::megatron::json_of(counterparts);
  std::string page;
  if (form == PageForm::markdown) {
    page =
        "# Megatron-LM's options\n\nPrinted by `trireme options --page megatron --markdown`. Paste "
        "the options of a launch script behind the subcommand: it works, or says in one message "
        "all that has to change.\n\n"
        "- same: an option of the same name and meaning\n"
        "- always: what it asks for is so in any case; it is accepted, with a note on standard "
        "error\n"
        "- **refused**: why, and what to change\n\n"
        "What is for other models than GPTs alone (BERT, T5, vision, retrieval, reinforcement "
        "learning, inference servers) is mostly left out, and refused as unknown.\n";
  }
  for (const Counterpart& counterpart : counterparts) {
    if (!page.empty()) page += '\n';
    page += form == PageForm::markdown ? config::megatron::markdown_of(counterpart)
                                       : config::megatron::table_of(counterpart);
  }
  return page;
}

std::string environment_page(PageForm form) {
  const auto variables = environment_variables();
  if (form == PageForm::json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const EnvironmentVariable& variable : variables) {
      list.push_back({{"name", variable.name},
                      {"reader", variable.reader},
                      {"meaning", variable.meaning},
                      {"otherwise", variable.otherwise}});
    }
    return list.dump(2) + "\n";
  }
  if (form == PageForm::markdown) {
    std::string page =
        "# Environment variables\n\nPrinted by `trireme options --page environment --markdown`. "
        "All that the program, its tests and `./dev` read; options are in "
        "[options.md](options.md).\n\n"
        "| variable | read by | meaning | when not set |\n|---|---|---|---|\n";
    for (const EnvironmentVariable& variable : variables) {
      page += format(
          "| `{}` | {} | {} | {} |\n", variable.name, config::markdown_cell(variable.reader),
          config::markdown_cell(variable.meaning), config::markdown_cell(variable.otherwise));
    }
    return page;
  }
  using Align = TextTable::Align;
  TextTable table({{"variable", Align::left},
                   {"read by", Align::left},
                   {"when not set", Align::left},
                   {"meaning", Align::left}});
  for (const EnvironmentVariable& variable : variables) {
    table.row({std::string(variable.name), std::string(variable.reader),
               std::string(variable.otherwise), std::string(variable.meaning)});
  }
  return table.text();
}

}  // namespace

std::string page_text(Page page, PageForm form, std::span<const Command> commands) {
  switch (page) {
    case Page::options:
      return options_page(form, commands);
    case Page::megatron:
      return megatron_page(form, commands);
    case Page::environment:
      break;
  }
  return environment_page(form);
}

}  // namespace trireme::app
