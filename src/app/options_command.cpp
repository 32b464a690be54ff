// trireme options: every option there is, for reading and for the docs page.

#include "app/commands.h"
#include "config/groups/all.h"
#include "config/help.h"
#include "core/log.h"

namespace trireme::app {
namespace {

struct OptionsPageOptions {
  bool markdown = false;
  bool json = false;

  static const config::Group& group() {
    static const config::Group table = {
        "Output",
        "how the page is written",
        {config::field(&OptionsPageOptions::markdown,
                       {.name = "markdown", .help = "write a Markdown page", .saved = false}),
         config::field(&OptionsPageOptions::json,
                       {.name = "json", .help = "write JSON, for programs", .saved = false})}};
    return table;
  }
  [[nodiscard]] std::optional<config::Conflict> validate() const {
    if (!markdown || !json) return std::nullopt;
    return config::Conflict{.names = {"json", "markdown"},
                            .what = "both --json and --markdown",
                            .rule = "the page has one form",
                            .remedy = "leave one out"};
  }
};

void declare(OptionsPageOptions& options, config::OptionSet& set) {
  set.add(options);
}

int run(const OptionsPageOptions& options, const config::OptionSet& /*set*/) {
  if (options.json) {
    std::string page = config::json_of(config::all_groups());
    page.pop_back();  // say() ends the line
    say(page);
    return 0;
  }
  std::string page;
  if (options.markdown) {
    page =
        "# Options\n\nPrinted by `trireme options --markdown`. Each group serves one or more "
        "subcommands; `trireme help SUBCOMMAND` shows which, and the few switches "
        "that are a subcommand's own (as `--dry-run` of `train`).\n";
  }
  for (const config::Group* group : config::all_groups()) {
    if (!page.empty()) page += '\n';
    page += options.markdown ? config::markdown_of(*group) : config::table_of(*group);
  }
  page.pop_back();  // say() ends the line
  say(page);
  return 0;
}

}  // namespace

Command options_command() {
  return make_command<OptionsPageOptions>(
      {.name = "options",
       .summary = "print every option, its unit, range and default",
       .about = "Prints the options of all subcommands by group, with what they take, their "
                "defaults and their meaning.",
       .examples = "trireme options\ntrireme options --markdown > options.md"},
      declare, run);
}

}  // namespace trireme::app
