#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/option_set.h"
#include "core/log.h"

namespace trireme::app {

/// What is said about a subcommand: in the overview, and above and below its options in --help.
struct CommandText {
  std::string name;      ///< "train"; two words for a family, "tokenizer train"
  std::string summary;   ///< one line of the overview, without full stop
  std::string about;     ///< what it does, reads and writes; wrapped when printed
  std::string examples;  ///< command lines as one types them, one a line
};

/// What a subcommand takes, for the pages and hints that are about all of them.
struct CommandOptions {
  std::vector<const config::Group*> groups = {};     ///< without the common one
  config::Words required = {};                       ///< here and not in the groups' tables
  const config::megatron::Script* script = nullptr;  ///< of Megatron-LM's, that it stands for
};

/// A subcommand as the program sees it.
struct Command {
  CommandText text;
  /// The arguments behind the name; returns the exit status. Throws Error.
  std::function<int(std::span<const std::string> arguments)> run;
  std::function<CommandOptions()> options = {};
};

/// The subcommands that have an option of that name, asked by those that have not.
[[nodiscard]] std::optional<config::Elsewhere> who_takes(std::string_view name);

/// Prints a subcommand's --help to standard output.
void print_help(const CommandText& text, const config::OptionSet& options);

/// A subcommand from its three parts: the struct that holds its options, a function that adds the
/// struct's groups to the set, and the function that does the work with checked options.
template <class Options>
[[nodiscard]] Command make_command(CommandText text,
                                   void (*declare)(Options& options, config::OptionSet& set),
                                   int (*run)(const Options& options,
                                              const config::OptionSet& set)) {
  auto call = [text, declare, run](std::span<const std::string> arguments) {
    Options options;
    config::OptionSet set("trireme " + text.name);
    declare(options, set);
    set.ask(who_takes);
    set.read(arguments);
    if (set.help_wanted()) {
      print_help(text, set);
      return 0;
    }
    for (const std::string& line : set.notes()) note(line);
    return run(options, set);
  };
  auto describe = [text, declare] {
    Options options;
    config::OptionSet set("trireme " + text.name);
    declare(options, set);
    CommandOptions result = {.required = set.required_here(), .script = set.script()};
    for (const config::GroupView& view : set.views()) result.groups.push_back(view.group);
    return result;
  };
  return {std::move(text), std::move(call), std::move(describe)};
}

}  // namespace trireme::app
