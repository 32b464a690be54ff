#pragma once
#include <optional>

#include "config/group.h"

namespace trireme::config {

/// The tokenizer's files, for every subcommand that turns text into tokens or back.
struct TokenizerOptions {
  std::optional<Path> vocab_file = {};  ///< vocab.json
  std::optional<Path> merge_file = {};  ///< merges.txt

  bool operator==(const TokenizerOptions&) const = default;
  static const Group& group();
  /// Both or none.
  [[nodiscard]] std::optional<Conflict> validate() const;
};

}  // namespace trireme::config
