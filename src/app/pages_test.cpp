// The pages, against docs/ and against the subcommands; what the tables of Megatron-LM's options
// say of ours.

#include "app/pages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "app/commands.h"
#include "config/groups/all.h"
#include "config/groups/common.h"
#include "core/environment.h"
#include "core/file.h"
#include "core/format.h"

namespace trireme::app {
namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string text_of(Page page, PageForm form) {
  return page_text(page, form, all_commands());
}

TEST(Pages, OfTheDocsAreWhatTheProgramPrints) {
  // Printed again by: trireme options --page NAME --markdown > docs/NAME.md
  for (const auto& [page, name] : {std::pair{Page::options, "options"},
                                   {Page::megatron, "megatron"},
                                   {Page::environment, "environment"}}) {
    EXPECT_TRUE(text_of(page, PageForm::markdown) ==
                read_file(format(TRIREME_SOURCE_DIR "/docs/{}.md", name)))
        << "docs/" << name << ".md is not what the program prints";
  }
}

TEST(OptionsPage, NamesEveryFieldOfEverySubcommandAndWhoTakesIt) {
  const std::string text = text_of(Page::options, PageForm::text);
  const std::string markdown = text_of(Page::options, PageForm::markdown);
  const auto json = nlohmann::json::parse(text_of(Page::options, PageForm::json));
  for (const Command& command : all_commands()) {
    const CommandOptions options = command.options();
    for (const std::string& name : options.required) {
      const std::string requires_it = format("`trireme {}` (requires ", command.text.name);
      EXPECT_TRUE(contains(markdown, requires_it)) << name;
    }
    for (const config::Group* group : options.groups) {
      EXPECT_TRUE(contains(markdown, "\n## " + group->title + "\n")) << group->title;
      const auto chapter = std::find_if(json.begin(), json.end(),
                                        [&](const auto& c) { return c["title"] == group->title; });
      ASSERT_NE(chapter, json.end()) << group->title;
      EXPECT_EQ((*chapter)["options"].size(), group->fields.size());
      const auto& takers = (*chapter)["commands"];
      EXPECT_NE(std::find(takers.begin(), takers.end(), "trireme " + command.text.name),
                takers.end())
          << group->title << " of " << command.text.name;
      for (const config::Field& field : group->fields) {
        EXPECT_TRUE(contains(text, "  --" + field.name + " ")) << field.name;
        EXPECT_TRUE(contains(markdown, "| `--" + field.name + "` |")) << field.name;
      }
    }
  }
  EXPECT_TRUE(contains(text, "--dry-run ")) << "the switches of single subcommands too";
}

TEST(OptionsPage, HasEveryGroupOnceAndAllAreTaken) {
  std::set<const config::Group*> taken = {&config::CommonOptions::group()};
  std::set<std::string> titles;
  for (const Command& command : all_commands()) {
    const CommandOptions options = command.options();
    taken.insert(options.groups.begin(), options.groups.end());
  }
  for (const config::Group* group : taken) {
    EXPECT_TRUE(titles.insert(group->title).second) << "two groups are called " << group->title;
  }
  for (const config::Group* group : config::all_groups()) {
    EXPECT_EQ(taken.count(group), 1U) << "no subcommand takes " << group->title;
  }
}

// What a name means to a subcommand, by its fields alone.
config::Names fields_of(const CommandOptions& options) {
  config::Names names;
  for (const config::Group* group : options.groups) {
    for (const config::Field& field : group->fields) names.add(field);
  }
  return names;
}

TEST(MegatronTables, SayTheSameOfExactlyTheOptionsThatExist) {
  std::set<const config::megatron::Script*> scripts;
  for (const Command& command : all_commands()) {
    const CommandOptions options = command.options();
    if (options.script == nullptr) continue;
    scripts.insert(options.script);
    const config::Names names = fields_of(options);
    for (const config::megatron::Section& section : options.script->sections) {
      for (const config::megatron::Option& option : section.options) {
        const bool exists = names.meaning(option.name).field != nullptr;
        const bool same = option.status == config::megatron::Status::same;
        EXPECT_EQ(exists, same) << "trireme " << command.text.name << (exists ? " has" : " has no")
                                << " option --" << option.name << "; src/config/megatron/ says "
                                << (same ? "`same`" : "otherwise") << " (" << section.title << ")";
      }
    }
  }
  EXPECT_EQ(scripts.size(), 3U);
}

TEST(MegatronPage, SaysOfEveryOptionWhatBecomesOfIt) {
  const auto json = nlohmann::json::parse(text_of(Page::megatron, PageForm::json));
  std::set<std::string> names;
  for (const auto& entry : json) {
    names.insert(entry["name"]);
    if (entry["status"] == "same") {
      EXPECT_TRUE(entry.contains("option")) << entry;
    } else {
      EXPECT_FALSE(entry["note"].get<std::string>().empty()) << entry;
    }
  }
  EXPECT_GT(names.size(), 300U);
  const std::string markdown = text_of(Page::megatron, PageForm::markdown);
  const std::string text = text_of(Page::megatron, PageForm::text);
  for (const std::string& name : names) {
    EXPECT_TRUE(contains(markdown, format("`--{}`", name)) ||
                contains(markdown, format("`--{} X", name)))
        << name;
    EXPECT_TRUE(contains(text, format("\n  --{} ", name))) << name;
  }
}

TEST(EnvironmentPage, NamesEveryVariable) {
  const auto json = nlohmann::json::parse(text_of(Page::environment, PageForm::json));
  EXPECT_EQ(json.size(), environment_variables().size());
  for (const EnvironmentVariable& variable : environment_variables()) {
    const std::string name(variable.name);
    EXPECT_TRUE(contains(text_of(Page::environment, PageForm::text), "\n" + name + " ")) << name;
    EXPECT_TRUE(contains(text_of(Page::environment, PageForm::markdown), "| `" + name + "` |"));
  }
}

TEST(WhoTakes, KnowsTheSubcommandsOfAnOption) {
  const auto length = who_takes("seq-length");
  ASSERT_TRUE(length);
  EXPECT_EQ(length->field->name, "seq-length");
  EXPECT_EQ(length->commands, (config::Words{"trireme train", "trireme evaluate", "trireme program",
                                             "trireme verify"}));
  // An alias of the two that lay out a model.
  EXPECT_EQ(who_takes("encoder-seq-length")->commands,
            (config::Words{"trireme train", "trireme program", "trireme verify"}));
  EXPECT_EQ(who_takes("dry-run")->commands, config::Words{"trireme train"});
  EXPECT_FALSE(who_takes("no-such-option"));
}

}  // namespace
}  // namespace trireme::app
