#include "config/help.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "config/groups/all.h"
#include "config/option_set.h"
#include "config/testing.h"

namespace trireme::config {
namespace {

using testing::contains;
using testing::Sample;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  size_t from = 0;
  while (from < text.size()) {
    const size_t end = text.find('\n', from);
    lines.push_back(text.substr(from, end - from));
    from = end + 1;
  }
  return lines;
}

std::vector<const Field*> fields_of(const Group& group) {
  std::vector<const Field*> fields;
  for (const Field& field : group.fields) fields.push_back(&field);
  return fields;
}

TEST(Help, MentionsEveryFieldWithUnitRangeAndDefault) {
  for (const Group* group : all_groups()) {
    const std::string help = help_of(fields_of(*group), 1000);
    for (const Field& field : group->fields) {
      const auto lines = lines_of(help);
      const std::string dashed = field.kind == Kind::flag && field.saved ? "--[no-]" : "--";
      const auto line = std::find_if(lines.begin(), lines.end(), [&](const std::string& text) {
        return text.rfind("  " + dashed + field.name, 0) == 0;
      });
      EXPECT_NE(line, lines.end()) << field.name << "\n" << help;
    }
  }
  const std::string help = help_of(fields_of(Sample::group()), 100);
  EXPECT_TRUE(contains(help, "--count N                   how many (items, in [1, 10]; default 3)"))
      << help;
  EXPECT_TRUE(contains(help, "where (default nowhere)"));
  EXPECT_TRUE(contains(help, "has no default (required)"));
  EXPECT_TRUE(contains(help, "--colour red|green|blue     which (default green)"));
}

TEST(Help, KeepsWithinTheTerminal) {
  for (const int columns : {0, 40, 60, 80, 100}) {
    for (const Group* group : all_groups()) {
      for (const std::string& line : lines_of(help_of(fields_of(*group), columns))) {
        // A single word, or an option on a line of its own, may be longer.
        const size_t start = line.find_first_not_of(' ');
        const bool unbreakable = line.find(' ', start) == std::string::npos || start == 2;
        if (unbreakable) continue;
        EXPECT_LE(line.size(), static_cast<size_t>(std::max(columns, 40))) << line;
      }
    }
  }
}

TEST(Help, HasUsageAboutGroupsAndExamples) {
  Sample sample;
  OptionSet options("trireme test");
  options.add(sample);
  options.require("folder");
  const std::string help = options.help("Does something.", "trireme test --must 1 a b", 80);
  EXPECT_EQ(help.rfind("usage: trireme test [options] [FILE...]\n\nDoes something.\n\nSample\n", 0),
            0U)
      << help;
  EXPECT_TRUE(contains(help, "where (required)"));
  EXPECT_TRUE(contains(help, "\nCommon\n  --config PATH"));
  EXPECT_TRUE(contains(help, "\nExamples\n  trireme test --must 1 a b\n"));
}

TEST(Help, NamesAliases) {
  const Field field = config::field(&Sample::count, {.name = "count",
                                                     .aliases = {"number", "n-items"},
                                                     .help = "how many",
                                                     .unit = "items",
                                                     .range = at_least(1)});
  const std::vector<const Field*> fields = {&field};
  EXPECT_EQ(
      help_of(fields, 110),
      "  --count N                   how many (items, >= 1, also --number, --n-items; default "
      "3)\n");
  const Group group = {"Group", "about", {field}};
  const Chapter chapter = {&group, {{"trireme train", {"count"}}, {"trireme plan"}}};
  EXPECT_TRUE(contains(table_of(chapter), "how many; also --number, --n-items"))
      << table_of(chapter);
  EXPECT_TRUE(
      contains(table_of(chapter), "taken by trireme train (requires --count), trireme plan"));
  EXPECT_TRUE(contains(markdown_of(chapter), "how many; also --number, --n-items |"));
  EXPECT_TRUE(contains(markdown_of(chapter),
                       "about; taken by `trireme train` (requires `--count`), `trireme plan`\n"));
  const std::vector<Chapter> chapters = {chapter};
  for (const std::string part : {R"("commands": [
      "trireme train",
      "trireme plan"
    ])",
                                 R"("aliases": [
          "number",
          "n-items"
        ])",
                                 R"("range": ">= 1")", R"("unit": "items")", R"("default": "3")"}) {
    EXPECT_TRUE(contains(json_of(chapters), part)) << part << json_of(chapters);
  }
}

TEST(Wrapped, BreaksBetweenWordsAndCountsCharacters) {
  const std::string text = "aaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbbbbb ccc\n\nnext";
  EXPECT_EQ(wrapped(text, 40, 0), "aaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbbbbb\nccc\n\nnext\n");
  EXPECT_EQ(wrapped("one two", 40, 2), "  one two\n");
  std::string accents;
  for (int i = 0; i < 19; ++i) accents += "\xC3\xA9";
  EXPECT_EQ(wrapped(accents + " bbbbbbbbbbbbbbbbbbbb", 40, 0), accents + " bbbbbbbbbbbbbbbbbbbb\n");
}

TEST(Tables, MentionEveryFieldAndEscapeMarkdown) {
  for (const Group* group : all_groups()) {
    for (const Field& field : group->fields) {
      EXPECT_TRUE(contains(table_of({.group = group}), "--" + field.name + " ")) << field.name;
      EXPECT_TRUE(contains(markdown_of({.group = group}), "| `--" + field.name + "` |"))
          << field.name;
    }
    for (const std::string& line : lines_of(markdown_of({.group = group}))) {
      if (line.rfind('|', 0) != 0) continue;
      EXPECT_EQ(std::count(line.begin(), line.end(), '|'), 5) << line;
    }
  }
}

}  // namespace
}  // namespace trireme::config
