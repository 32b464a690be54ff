#include "text/vocabulary.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "core/error.h"
#include "core/format.h"
#include "text/byte_alphabet.h"
#include "text/utf8.h"

namespace trireme::text {
namespace {

[[noreturn]] void fail_special(const std::string& token, const char* rule) {
  fail({.where = format("special token \"{}\"", token), .what = "cannot be one", .rule = rule});
}

}  // namespace

std::optional<int32_t> find_special(const Vocabulary& vocabulary, std::string_view text) {
  for (const std::vector<int32_t>* ids : {&vocabulary.special, &vocabulary.added}) {
    for (const int32_t id : *ids) {
      if (vocabulary.tokens[static_cast<size_t>(id)] == text) return id;
    }
  }
  return std::nullopt;
}

void check_special_tokens(std::span<const std::string> special_tokens) {
  std::unordered_set<std::string_view> seen;
  for (const std::string& token : special_tokens) {
    if (token.size() < 2) fail_special(token, "it must be longer than one byte");
    if (find_invalid_utf8(token) != token.size()) fail_special(token, "it must be valid UTF-8");
    if (has_letter_beyond_ascii(token))
      fail_special(token, "the letters U+00A1 to U+0143 stand for bytes in vocab.json");
    if (!seen.insert(token).second) fail_special(token, "it must be given only once");
  }
}

Vocabulary make_vocabulary(std::span<const Merge> merges,
                           std::span<const std::string> special_tokens) {
  check_special_tokens(special_tokens);
  Vocabulary vocabulary;
  std::unordered_map<std::string, int32_t> ids;
  const auto add = [&](std::string bytes) {
    const auto id = static_cast<int32_t>(vocabulary.tokens.size());
    const auto [entry, is_new] = ids.try_emplace(bytes, id);
    if (is_new) vocabulary.tokens.push_back(std::move(bytes));
    return entry->second;
  };
  for (const uint8_t byte : bytes_by_letter()) add(std::string(1, static_cast<char>(byte)));
  for (const Merge& merge : merges) {
    const auto known = static_cast<int32_t>(vocabulary.tokens.size());
    TRIREME_ASSERT(
        std::min(merge.left, merge.right) >= 0 && std::max(merge.left, merge.right) < known,
        "a merge joins tokens that stand before it");
    vocabulary.merges.push_back(merge);
    vocabulary.results.push_back(add(vocabulary.tokens[static_cast<size_t>(merge.left)] +
                                     vocabulary.tokens[static_cast<size_t>(merge.right)]));
  }
  for (const std::string& token : special_tokens) {
    const auto id = static_cast<int32_t>(vocabulary.tokens.size());
    if (add(token) != id) fail_special(token, "merges make a token with the same text");
    vocabulary.special.push_back(id);
  }
  return vocabulary;
}

}  // namespace trireme::text
