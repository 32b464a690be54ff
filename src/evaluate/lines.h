#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/file.h"

namespace trireme::evaluate {

/// A line of a JSONL file, for messages: "hellaswag_val.jsonl:17".
struct Line {
  std::string_view file;
  int64_t number = 0;  ///< from 1

  [[nodiscard]] std::string text() const;
};

/// Throws: a line that is not what its task needs.
[[noreturn]] void refuse(const Line& line, std::string what, std::string rule);

/// Calls with every line of a JSONL file (.gz and .zst are decompressed) that is not blank, at most
/// `limit` of them. Throws where there is none.
void for_each_line(const Path& file, int64_t limit,
                   const std::function<void(std::string_view text, const Line& line)>& take);

}  // namespace trireme::evaluate
