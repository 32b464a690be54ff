// trireme options: pages about all options there are, for reading and for the docs.

#include "app/commands.h"
#include "app/pages.h"

namespace trireme::app {
namespace {

struct Options {
  Page page = Page::options;
  bool markdown = false;
  bool json = false;

  static const config::Group& group() {
    static const config::Group table = {
        "Output",
        "which page, and how it is written",
        {config::field(&Options::page,
                       {.name = "page",
                        .help = "options: all of this program; megatron: what becomes of "
                                "Megatron-LM's; environment: variables that are read",
                        .words = {"options", "megatron", "environment"},
                        .saved = false}),
         config::field(&Options::markdown,
                       {.name = "markdown", .help = "write a Markdown page", .saved = false}),
         config::field(&Options::json,
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

void declare(Options& options, config::OptionSet& set) {
  set.add(options);
}

int run(const Options& options, const config::OptionSet& /*set*/) {
  const PageForm form = options.json       ? PageForm::json
                        : options.markdown ? PageForm::markdown
                                           : PageForm::text;
  std::string text = page_text(options.page, form, all_commands());
  text.pop_back();  // say() ends the line
  say(text);
  return 0;
}

}  // namespace

Command options_command() {
  return make_command<Options>(
      {.name = "options",
       .summary = "print every option, what it takes and its default",
       .about =
           "Prints the options of all subcommands by group: what they take, their unit and range, "
           "their defaults, their meaning, and which subcommands take them. Other pages say what "
           "becomes of Megatron-LM's options, and which environment variables are read. The pages "
           "of docs/ are printed so.",
       .examples = "trireme options\n"
                   "trireme options --page megatron | grep -A3 sequence-parallel\n"
                   "trireme options --page megatron --markdown > megatron.md\n"
                   "trireme options --json"},
      declare, run);
}

}  // namespace trireme::app
