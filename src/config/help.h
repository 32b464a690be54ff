#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/field.h"
#include "config/group.h"

namespace trireme::config {

/// What stands for the value in help: "N", "X", "TEXT", "PATH", "A|B", "WORD", "FILE"; empty for a
/// flag.
[[nodiscard]] std::string metavar(const Field& field);

/// Help lines of some fields: the option on the left, help with unit, range and default on the
/// right, wrapped to so many columns (never below 40).
[[nodiscard]] std::string help_of(std::span<const Field* const> fields, int columns);

/// Who takes a group, on the pages about all options.
struct Taker {
  std::string command;  ///< "trireme train"
  Words required = {};  ///< options that this one requires and the group's table does not
};

/// A group as a chapter of such a page.
struct Chapter {
  const Group* group = nullptr;
  std::vector<Taker> takers = {};  ///< empty: every subcommand, as the group itself says
};

/// As a table for a terminal.
[[nodiscard]] std::string table_of(const Chapter& chapter);
/// As a chapter of a Markdown page.
[[nodiscard]] std::string markdown_of(const Chapter& chapter);
/// For a program: a JSON list of groups, each with its subcommands and its fields: name, aliases,
/// what it takes, unit, range, words, default and help.
[[nodiscard]] std::string json_of(std::span<const Chapter> chapters);

/// Text for a cell of a Markdown table: no bars, and no brackets that would be taken for HTML.
[[nodiscard]] std::string markdown_cell(std::string_view text);

/// Paragraphs (lines of the text) broken between words; every line indented. A word that is too
/// long stands alone. Columns are counted in UTF-8 characters. Ends with a newline.
[[nodiscard]] std::string wrapped(std::string_view text, int columns, int indent);

/// Lines as they are, indented. Ends with a newline.
[[nodiscard]] std::string indented(std::string_view text, int indent);

}  // namespace trireme::config
