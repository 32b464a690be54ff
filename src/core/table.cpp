#include "core/table.h"

#include <algorithm>

#include "core/error.h"

namespace trireme {
namespace {

// Columns a UTF-8 text takes, one per code point.
size_t width_of(const std::string& text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

TextTable::TextTable(std::vector<std::pair<std::string, Align>> columns)
    : columns_(std::move(columns)) {}

void TextTable::row(std::vector<std::string> cells) {
  TRIREME_ASSERT(cells.size() == columns_.size(), "a row has a cell for each column");
  rows_.push_back(std::move(cells));
}

void TextTable::rule() {
  rows_.emplace_back();
}

std::string TextTable::text(int indent) const {
  std::vector<size_t> widths;
  for (size_t c = 0; c < columns_.size(); ++c) {
    size_t width = width_of(columns_[c].first);
    for (const auto& row : rows_) {
      if (!row.empty()) width = std::max(width, width_of(row[c]));
    }
    widths.push_back(width);
  }
  std::string text;
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string out(static_cast<size_t>(indent), ' ');
    for (size_t c = 0; c < cells.size(); ++c) {
      const std::string pad(widths[c] - width_of(cells[c]), ' ');
      out += columns_[c].second == Align::right ? pad + cells[c] : cells[c] + pad;
      if (c + 1 < cells.size()) out += "  ";
    }
    out.erase(out.find_last_not_of(' ') + 1);
    text += out + "\n";
  };
  std::vector<std::string> head;
  std::vector<std::string> dashes;
  for (size_t c = 0; c < columns_.size(); ++c) {
    head.push_back(columns_[c].first);
    dashes.emplace_back(widths[c], '-');
  }
  line(head);
  line(dashes);
  for (const auto& row : rows_) line(row.empty() ? dashes : row);
  return text;
}

}  // namespace trireme
