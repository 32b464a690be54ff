#include "config/groups/tokenizer_train.h"

#include "core/format.h"

namespace trireme::config {

const Group& TokenizerTrainOptions::group() {
  using O = TokenizerTrainOptions;
  static const Group table = {
      "Tokenizer training",
      "making a byte-level BPE tokenizer from text",
      {
          field(&O::input, {.name = "input",
                            .help = "text or JSONL files and folders to learn from; - is standard "
                                    "input",
                            .required = true,
                            .positional = true}),
          field(&O::json_keys,
                {.name = "json-keys", .help = "keys of the JSON objects whose text is taken"}),
          field(&O::output, {.name = "output",
                             .help = "folder for tokenizer.json, vocab.json and merges.txt",
                             .required = true}),
          field(&O::vocab_size, {.name = "vocab-size",
                                 .help = "size of the vocabulary: 256 bytes, the special tokens, "
                                         "merges",
                                 .unit = "tokens",
                                 .range = between(256, 2147483647),
                                 .required = true}),
          field(&O::min_frequency, {.name = "min-frequency",
                                    .help = "pairs that occur less often are not merged",
                                    .unit = "occurrences",
                                    .range = at_least(1)}),
          field(&O::special_tokens,
                {.name = "special-tokens", .help = "tokens that stand for their own text"}),
          field(&O::split_pattern,
                {.name = "split-pattern",
                 .help = "what cuts a text into pieces, inside which tokens lie: gpt2, llama3, "
                         "qwen2, or a regular expression as tokenizer.json has it"}),
      }};
  return table;
}

std::optional<Conflict> TokenizerTrainOptions::validate() const {
  const int64_t least = 256 + static_cast<int64_t>(special_tokens.size());
  if (vocab_size >= least) return std::nullopt;
  return Conflict{
      .names = {"vocab-size", "special-tokens"},
      .what = format("vocab-size {} is below {}", vocab_size, least),
      .rule = format("256 bytes and {} special tokens are always in", special_tokens.size()),
      .remedy = format("use vocab-size {} or more", least)};
}

}  // namespace trireme::config
