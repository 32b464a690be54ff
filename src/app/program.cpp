#include "app/program.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <vector>

#include "comm/mpi/launch.h"
#include "config/help.h"
#include "config/nearest.h"
#include "core/error.h"
#include "core/failure.h"
#include "core/format.h"
#include "core/log.h"
#include "core/table.h"

namespace trireme::app {
namespace {

using Arguments = std::span<const std::string>;

// The overview of all subcommands, or of a family ("tokenizer").
std::string overview(std::span<const Command> commands, const std::string& family) {
  size_t widest = 0;
  for (const Command& command : commands) widest = std::max(widest, command.text.name.size());
  std::string text =
      format("usage: trireme {}SUBCOMMAND [options]\n\n", family.empty() ? "" : family + " ");
  if (family.empty()) {
    text += config::wrapped(
        "Trains large GPT models with pipeline, tensor and data parallelism: from raw text to a "
        "model that talks.",
        terminal_columns(), 0);
    text += '\n';
  }
  for (const Command& command : commands) {
    if (!family.empty() && command.text.name.rfind(family + " ", 0) != 0) continue;
    text += format("  {:<{}}  {}\n", command.text.name, widest, command.text.summary);
  }
  text += "\ntrireme help SUBCOMMAND explains one of them.";
  if (family.empty()) text += " trireme --version tells the version.";
  return text;
}

bool is_family(std::span<const Command> commands, const std::string& name) {
  return std::any_of(commands.begin(), commands.end(), [&](const Command& command) {
    return command.text.name.rfind(name + " ", 0) == 0;
  });
}

// The words in front that may be a name: at most two, up to the first option.
std::string words_in_front(Arguments arguments, size_t count) {
  std::string name;
  for (size_t i = 0; i < std::min(count, arguments.size()); ++i) {
    if (arguments[i].rfind('-', 0) == 0) break;
    name += (name.empty() ? "" : " ") + arguments[i];
  }
  return name;
}

[[noreturn]] void no_such_command(std::span<const Command> commands, Arguments arguments) {
  std::vector<std::string> names;
  for (const Command& command : commands) names.push_back(command.text.name);
  const std::string& first = arguments.front();
  const bool family = is_family(commands, first);
  const std::string typed = family ? words_in_front(arguments, 2) : first;
  const auto meant = config::nearest(typed, names);
  Trouble trouble = {
      .where = "command line",
      .what = format("there is no subcommand '{}'", typed),
      .remedy = meant ? format("the nearest is '{}'", *meant) : "trireme --help lists them"};
  if (first.rfind('-', 0) == 0) {
    trouble.what = format("there is no option {} in front of a subcommand", first);
    trouble.rule = "options stand behind the subcommand";
    trouble.remedy = "trireme --help lists the subcommands";
  } else if (typed == first && family) {
    trouble.what = format("'{}' is a family of subcommands", first);
    trouble.remedy = format("trireme help {} lists them", first);
  }
  fail_usage(trouble);
}

}  // namespace

void print_help(const CommandText& text, const config::OptionSet& options) {
  std::string help = options.help(text.about, text.examples, terminal_columns());
  help.pop_back();  // say() ends the line
  say(help);
}

int run_program(std::span<const Command> commands, Arguments arguments) {
  if (arguments.empty()) {
    say(overview(commands, ""));
    return 0;
  }
  const std::string& first = arguments.front();
  if (first == "--version") {
    say("trireme " TRIREME_VERSION);
    return 0;
  }
  const bool help_verb = first == "help";
  if (help_verb) arguments = arguments.subspan(1);
  const auto asks_help = [&](size_t at) {
    return arguments.size() > at && (arguments[at] == "--help" || arguments[at] == "-h");
  };
  if (arguments.empty() || asks_help(0)) {
    say(overview(commands, ""));
    return 0;
  }
  // The longest name wins, so that a family may also be a subcommand.
  for (const size_t words : {size_t{2}, size_t{1}}) {
    if (arguments.size() < words) continue;
    const std::string name = words_in_front(arguments, words);
    const auto command =
        std::find_if(commands.begin(), commands.end(),
                     [&](const Command& candidate) { return candidate.text.name == name; });
    if (command == commands.end()) continue;
    const auto used = static_cast<size_t>(std::count(name.begin(), name.end(), ' ')) + 1;
    if (!help_verb) return command->run(arguments.subspan(used));
    const std::vector<std::string> help = {"--help"};
    return command->run(help);
  }
  const std::string& family = arguments.front();
  if (is_family(commands, family) && (asks_help(1) || (help_verb && arguments.size() == 1))) {
    say(overview(commands, family));
    return 0;
  }
  no_such_command(commands, arguments);
}

int tell_failure(const std::exception_ptr& failure) noexcept {
  // What all ranks find wrong (options, data), the first one tells; what this one does not share
  // with the first, it tells itself.
  if (is_quiet()) comm::mpi::let_first_speak(comm::mpi::launch_here());
  return trireme::tell_failure(failure);
}

int guarded_program(std::span<const Command> commands, Arguments arguments) noexcept {
  try {
    // Of the processes of a launcher the first one speaks, from the first mistake on.
    if (const int rank = comm::mpi::launch_here().rank; rank > 0) {
      be_quiet(true);
      set_place(format("rank {}", rank));
    }
    const int status = run_program(commands, arguments);
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      fail({.where = "standard output",
            .what = errno_text(errno),
            .remedy = "the output is not whole; make room or write elsewhere"});
    }
    return status;
  } catch (...) {
    return tell_failure(std::current_exception());
  }
}

}  // namespace trireme::app
