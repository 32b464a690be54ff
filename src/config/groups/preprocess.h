#pragma once
#include <cstdint>
#include <optional>

#include "config/group.h"

namespace trireme::config {

enum class InputFormat { automatic, text, jsonl };
/// What happens to a line of JSONL that cannot be read as asked.
enum class BadLine { fail, skip };

/// From text to token files; joining and looking at token files.
struct PreprocessOptions {
  Words input = {};
  Words merge = {};                  ///< instead of input: prefixes or folders of datasets
  std::optional<Path> inspect = {};  ///< instead of input: a dataset's prefix
  std::optional<Path> output_prefix = {};
  Words json_keys = {"text"};
  InputFormat input_format = InputFormat::automatic;
  std::optional<std::string> split_documents_on = {};  ///< with escapes, see split_text()
  BadLine on_bad_line = BadLine::fail;
  bool append_eod = false;
  int64_t workers = 0;  ///< threads; 0: usable cores
  int64_t log_interval = 100000;
  bool json = false;

  bool operator==(const PreprocessOptions&) const = default;
  static const Group& group();
  /// One thing to do, and only options that have an effect on it.
  [[nodiscard]] std::optional<Conflict> validate() const;

  /// split_documents_on as bytes: \n, \t, \r, \0 and \\ stand for themselves; nothing where another
  /// letter follows a backslash. Empty where it is not given.
  [[nodiscard]] std::optional<std::string> split_text() const;
};

}  // namespace trireme::config
