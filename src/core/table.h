#pragma once
#include <string>
#include <vector>

namespace trireme {

/// Plain text table with aligned columns; numbers (columns marked right) flush right.
class TextTable {
 public:
  enum class Align { left, right };
  explicit TextTable(std::vector<std::pair<std::string, Align>> columns);
  void row(std::vector<std::string> cells);
  /// A rule across the table, before a total.
  void rule();
  [[nodiscard]] std::string text(int indent = 0) const;

 private:
  std::vector<std::pair<std::string, Align>> columns_;
  std::vector<std::vector<std::string>> rows_;  // an empty row is a rule
};

}  // namespace trireme
