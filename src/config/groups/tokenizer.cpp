#include "config/groups/tokenizer.h"

namespace trireme::config {

const Group& TokenizerOptions::group() {
  using O = TokenizerOptions;
  static const Group table = {
      "Tokenizer",
      "the files of a byte-level BPE tokenizer",
      {
          field(&O::vocab_file, {.name = "vocab-file",
                                 .help = "tokens and their ids, as GPT-2's vocab.json",
                                 .otherwise = "none"}),
          field(&O::merge_file, {.name = "merge-file",
                                 .help = "merges in their order, as GPT-2's merges.txt",
                                 .otherwise = "none"}),
      }};
  return table;
}

std::optional<Conflict> TokenizerOptions::validate() const {
  if (vocab_file.has_value() == merge_file.has_value()) return std::nullopt;
  const bool vocab = vocab_file.has_value();
  return Conflict{.names = {vocab ? "vocab-file" : "merge-file"},
                  .what = vocab ? "vocab-file without merge-file" : "merge-file without vocab-file",
                  .rule = "a tokenizer consists of both",
                  .remedy = vocab ? "give merge-file too" : "give vocab-file too"};
}

}  // namespace trireme::config
