// tokenizer.json, written.

#include <algorithm>

#include "core/format.h"
#include "text/byte_alphabet.h"
#include "text/json_node.h"
#include "text/tokenizer_json.h"

namespace trireme::text {
namespace {

using Ordered = nlohmann::ordered_json;

bool holds(const std::vector<int32_t>& ids, int32_t id) {
  return std::binary_search(ids.begin(), ids.end(), id);
}

Ordered byte_level(bool use_regex) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", false},
          {"trim_offsets", true},
          {"use_regex", use_regex}};
}

Ordered pre_tokenizer(const std::string& pattern) {
  if (pattern == kGpt2Pattern) return byte_level(true);
  const Ordered split = {{"type", "Split"},
                         {"pattern", {{"Regex", pattern}}},
                         {"behavior", "Isolated"},
                         {"invert", false}};
  return {{"type", "Sequence"}, {"pretokenizers", Ordered::array({split, byte_level(false)})}};
}

Ordered added_tokens(const Vocabulary& vocabulary) {
  Ordered list = Ordered::array();
  const auto size = static_cast<int32_t>(vocabulary.tokens.size());
  for (int32_t id = 0; id < size; ++id) {
    const bool special = holds(vocabulary.special, id);
    if (!special && !holds(vocabulary.added, id)) continue;
    list.push_back({{"id", id},
                    {"content", vocabulary.tokens[static_cast<size_t>(id)]},
                    {"single_word", false},
                    {"lstrip", false},
                    {"rstrip", false},
                    {"normalized", false},
                    {"special", special}});
  }
  return list;
}

// Tokens of the model. Added ones are among them only where others come after: at the end their
// readers number them on.
Ordered vocab(const Vocabulary& vocabulary) {
  auto size = static_cast<int32_t>(vocabulary.tokens.size());
  const auto is_added = [&](int32_t id) {
    return holds(vocabulary.special, id) || holds(vocabulary.added, id);
  };
  while (is_added(size - 1)) --size;
  Ordered::object_t entries;  // is a list: keys are not looked for while it grows
  for (int32_t id = 0; id < size; ++id) {
    const std::string& bytes = vocabulary.tokens[static_cast<size_t>(id)];
    entries.emplace_back(is_added(id) ? bytes : to_letters(bytes), id);
  }
  return entries;
}

Ordered merges(const Vocabulary& vocabulary) {
  Ordered list = Ordered::array();
  for (const Merge& merge : vocabulary.merges) {
    const auto letters = [&](int32_t id) {
      return to_letters(vocabulary.tokens[static_cast<size_t>(id)]);
    };
    list.push_back(letters(merge.left) + " " + letters(merge.right));
  }
  return list;
}

}  // namespace

std::string to_tokenizer_json(const Vocabulary& vocabulary) {
  const Ordered model = {{"type", "BPE"},
                         {"dropout", nullptr},
                         {"unk_token", nullptr},
                         {"continuing_subword_prefix", nullptr},
                         {"end_of_word_suffix", nullptr},
                         {"fuse_unk", false},
                         {"byte_fallback", false},
                         {"ignore_merges", vocabulary.ignore_merges},
                         {"vocab", vocab(vocabulary)},
                         {"merges", merges(vocabulary)}};
  const Ordered document = {{"version", "1.0"},
                            {"truncation", nullptr},
                            {"padding", nullptr},
                            {"added_tokens", added_tokens(vocabulary)},
                            {"normalizer", nullptr},
                            {"pre_tokenizer", pre_tokenizer(vocabulary.split_pattern)},
                            {"post_processor", byte_level(true)},
                            {"decoder", byte_level(true)},
                            {"model", model}};
  return document.dump(1, ' ', true) + "\n";
}

}  // namespace trireme::text
