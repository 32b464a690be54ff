#include "config/groups/tokenizer.h"

#include "core/format.h"

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
          field(
              &O::tokenizer_model,
              {.name = "tokenizer-model",
               .help = "instead of the two: Hugging Face's tokenizer.json with byte-level BPE, or "
                       "a folder with it or with vocab.json and merges.txt",
               .otherwise = "none"}),
          field(&O::eod_token, {.name = "eod-token",
                                .help = "the special token that ends a document",
                                .otherwise = "<|endoftext|>, else <|end_of_text|>"}),
      }};
  return table;
}

std::optional<Conflict> TokenizerOptions::validate() const {
  if (tokenizer_model && (vocab_file || merge_file)) {
    return Conflict{.names = {"tokenizer-model", vocab_file ? "vocab-file" : "merge-file"},
                    .what = format("tokenizer-model and {} are both given",
                                   vocab_file ? "vocab-file" : "merge-file"),
                    .rule = "a run has one tokenizer",
                    .remedy = "leave one out"};
  }
  if (vocab_file.has_value() == merge_file.has_value()) return std::nullopt;
  const bool vocab = vocab_file.has_value();
  return Conflict{.names = {vocab ? "vocab-file" : "merge-file"},
                  .what = vocab ? "vocab-file without merge-file" : "merge-file without vocab-file",
                  .rule = "they belong together",
                  .remedy = vocab ? "give merge-file too" : "give vocab-file too"};
}

}  // namespace trireme::config
