#pragma once
#include <cstdint>

#include "config/group.h"

namespace trireme::config {

/// Making a tokenizer from text.
struct TokenizerTrainOptions {
  Words input = {};
  Words json_keys = {"text"};
  Path output = {};        ///< folder of tokenizer.json, vocab.json and merges.txt
  int64_t vocab_size = 0;  ///< tokens: 256 bytes, special tokens, merges
  int64_t min_frequency = 2;
  Words special_tokens = {"<|endoftext|>"};
  std::string split_pattern = "gpt2";  ///< a name, or a pattern

  bool operator==(const TokenizerTrainOptions&) const = default;
  static const Group& group();
  /// Bytes and special tokens fit in the vocabulary.
  [[nodiscard]] std::optional<Conflict> validate() const;
};

}  // namespace trireme::config
