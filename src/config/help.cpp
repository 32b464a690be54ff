#include "config/help.h"

#include <algorithm>

#include "core/format.h"
#include "core/table.h"

namespace trireme::config {
namespace {

constexpr int kNarrowest = 40;
constexpr int kWidest = 110;
constexpr int kLeftColumn = 30;

int width_of(std::string_view text) {
  return static_cast<int>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

// "--lr X", "--data-path WORD...", "--[no-]append-eod".
std::string option_text(const Field& field) {
  if (field.kind == Kind::flag) {
    return (field.saved ? "--[no-]" : "--") + field.name;
  }
  return format("--{} {}{}", field.name, metavar(field), field.kind == Kind::list ? "..." : "");
}

// "(tokens, >= 1; default 12)"; empty when there is nothing to say.
std::string particulars(const Field& field) {
  Words parts;
  if (!field.unit.empty()) parts.push_back(field.unit);
  if (const std::string bounds = field.range.text(); !bounds.empty()) parts.push_back(bounds);
  if (!field.aliases.empty())
    parts.push_back(format("also --{}", fmt::join(field.aliases, ", --")));
  std::string text = format("{}", fmt::join(parts, ", "));
  const std::string initial = field.default_text();
  if (!initial.empty() && (field.kind != Kind::flag || field.saved)) {
    if (!text.empty()) text += "; ";
    text += (field.required ? "" : "default ") + initial;
  }
  return text.empty() ? "" : format(" ({})", text);
}

// The help of a page about all options, which has no place for aliases elsewhere.
std::string help_with_aliases(const Field& field) {
  if (field.aliases.empty()) return field.help;
  return format("{}; also --{}", field.help, fmt::join(field.aliases, ", --"));
}

// "trireme train, trireme generate (requires --x)", each command between `quotes`.
std::string takers_text(const Chapter& chapter, const char* quotes) {
  Words words;
  for (const Taker& taker : chapter.takers) {
    std::string text = format("{0}{1}{0}", quotes, taker.command);
    if (!taker.required.empty()) {
      text += format(" (requires {0}--{1}{0})", quotes,
                     fmt::join(taker.required, format("{0}, {0}--", quotes)));
    }
    words.push_back(std::move(text));
  }
  return format("{}", fmt::join(words, ", "));
}

}  // namespace

std::string metavar(const Field& field) {
  switch (field.kind) {
    case Kind::flag:
      return "";
    case Kind::integer:
      return "N";
    case Kind::real:
      return "X";
    case Kind::text:
      return "TEXT";
    case Kind::path:
      return "PATH";
    case Kind::word:
      return format("{}", fmt::join(field.words, "|"));
    case Kind::list:
      return field.positional ? "FILE" : "WORD";
  }
  return "";
}

std::string wrapped(std::string_view text, int columns, int indent) {
  const int room = std::max(std::min(columns, kWidest), kNarrowest);
  const std::string margin(static_cast<size_t>(indent), ' ');
  std::string result;
  while (!text.empty()) {
    std::string_view paragraph = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), paragraph.size() + 1));
    std::string line;
    while (!paragraph.empty()) {
      const std::string_view word = paragraph.substr(0, paragraph.find(' '));
      paragraph.remove_prefix(std::min(paragraph.size(), word.size() + 1));
      if (word.empty()) continue;
      if (!line.empty() && indent + width_of(line) + 1 + width_of(word) > room) {
        result += margin + line + "\n";
        line.clear();
      }
      if (!line.empty()) line += ' ';
      line += word;
    }
    result += line.empty() ? "\n" : margin + line + "\n";
  }
  return result;
}

std::string indented(std::string_view text, int indent) {
  std::string result;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (!line.empty()) result += std::string(static_cast<size_t>(indent), ' ');
    result += line;
    result += '\n';
  }
  return result;
}

std::string help_of(std::span<const Field* const> fields, int columns) {
  std::string result;
  for (const Field* field : fields) {
    const std::string left = "  " + option_text(*field);
    std::string right = wrapped(field->help + particulars(*field), columns, kLeftColumn);
    if (width_of(left) + 2 <= kLeftColumn) {
      right.replace(0, left.size(), left);
      result += right;
    } else {
      result += left;
      result += '\n';
      result += right;
    }
  }
  return result;
}

std::string table_of(const Chapter& chapter) {
  using Align = TextTable::Align;
  TextTable table({{"option", Align::left},
                   {"takes", Align::left},
                   {"default", Align::left},
                   {"meaning", Align::left}});
  const Group& group = *chapter.group;
  for (const Field& field : group.fields) {
    table.row({"--" + field.name, field.takes(), field.default_text(), help_with_aliases(field)});
  }
  const std::string takers = takers_text(chapter, "");
  return format("{}: {}\n{}{}", group.title, group.about,
                takers.empty() ? "" : format("  taken by {}\n", takers), table.text(2));
}

std::string markdown_of(const Chapter& chapter) {
  const Group& group = *chapter.group;
  const std::string takers = takers_text(chapter, "`");
  std::string result = format("## {}\n\n{}{}\n\n", group.title, group.about,
                              takers.empty() ? "" : format("; taken by {}", takers));
  result += "| option | takes | default | meaning |\n|---|---|---|---|\n";
  for (const Field& field : group.fields) {
    result += format("| `--{}` | {} | {} | {} |\n", field.name, markdown_cell(field.takes()),
                     markdown_cell(field.default_text()), markdown_cell(help_with_aliases(field)));
  }
  return result;
}

std::string markdown_cell(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '|') {
      result += "&#124;";
    } else if (c == '<') {
      result += "&lt;";
    } else if (c == '>') {
      result += "&gt;";
    } else {
      result += c;
    }
  }
  return result;
}

}  // namespace trireme::config
