#pragma once
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "config/option_set.h"

namespace trireme::app {

/// What is said about a subcommand: in the overview, and above and below its options in --help.
struct CommandText {
  std::string name;      ///< "train"; two words for a family, "tokenizer train"
  std::string summary;   ///< one line of the overview, without full stop
  std::string about;     ///< what it does, reads and writes; wrapped when printed
  std::string examples;  ///< command lines as one types them, one a line
};

/// A subcommand as the program sees it.
struct Command {
  CommandText text;
  /// The arguments behind the name; returns the exit status. Throws Error.
  std::function<int(std::span<const std::string> arguments)> run;
};

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
    set.read(arguments);
    if (set.help_wanted()) {
      print_help(text, set);
      return 0;
    }
    return run(options, set);
  };
  return {std::move(text), std::move(call)};
}

}  // namespace trireme::app
