#pragma once
#include <span>
#include <string>
#include <string_view>

#include "config/field.h"
#include "config/group.h"

namespace trireme::config {

/// What stands for the value in help: "N", "X", "TEXT", "PATH", "A|B", "WORD", "FILE"; empty for a
/// flag.
[[nodiscard]] std::string metavar(const Field& field);

/// Help lines of some fields: the option on the left, help with unit, range and default on the
/// right, wrapped to so many columns (never below 40).
[[nodiscard]] std::string help_of(std::span<const Field* const> fields, int columns);

/// A group as a table for a terminal.
[[nodiscard]] std::string table_of(const Group& group);

/// A group as a section of a Markdown page.
[[nodiscard]] std::string markdown_of(const Group& group);

/// Groups with their fields for a program: a JSON list, each field with name, what it takes, unit,
/// default and help.
[[nodiscard]] std::string json_of(std::span<const Group* const> groups);

/// Paragraphs (lines of the text) broken between words; every line indented. A word that is too
/// long stands alone. Columns are counted in UTF-8 characters. Ends with a newline.
[[nodiscard]] std::string wrapped(std::string_view text, int columns, int indent);

/// Lines as they are, indented. Ends with a newline.
[[nodiscard]] std::string indented(std::string_view text, int indent);

}  // namespace trireme::config
