#pragma once
#include <optional>

#include "config/group.h"

namespace trireme::config {

/// The tokenizer's files, for every subcommand that turns text into tokens or back.
struct TokenizerOptions {
  std::optional<Path> vocab_file = {};        ///< vocab.json
  std::optional<Path> merge_file = {};        ///< merges.txt
  std::optional<Path> tokenizer_model = {};   ///< tokenizer.json, or a folder with a tokenizer
  std::optional<std::string> eod_token = {};  ///< otherwise found by its name

  bool operator==(const TokenizerOptions&) const = default;
  static const Group& group();
  /// vocab_file and merge_file, or tokenizer_model, or none.
  [[nodiscard]] std::optional<Conflict> validate() const;

  [[nodiscard]] bool names_files() const { return vocab_file || tokenizer_model; }
};

}  // namespace trireme::config
