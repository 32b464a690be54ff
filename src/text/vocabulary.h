#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/file.h"

namespace trireme::text {

/// Two token ids that are joined.
struct Merge {
  int32_t left = 0;
  int32_t right = 0;
  bool operator==(const Merge&) const = default;
};

/// A byte-level BPE vocabulary as plain values. Made by the functions below, which check it: each
/// of the 256 bytes is a token; ids are 0 .. tokens.size() - 1; the bytes of a merge's result are
/// those of its left and right token, joined; every token is a byte, a result or special; no two
/// tokens have the same bytes and no two merges the same pair.
struct Vocabulary {
  std::vector<std::string> tokens;  ///< bytes by id; for special tokens their text
  std::vector<Merge> merges;        ///< in order of rank
  std::vector<int32_t> results;     ///< id that each merge makes
  std::vector<int32_t> special;     ///< ids of the special tokens, ascending
};

/// Numbered as GPT-2 does: the 256 bytes (those that print first, then the others, each in order of
/// value), one id for each merge whose bytes are new, the special tokens in the order given. Merges
/// name ids that stand before their own. Throws when a special token is not fit for one: see
/// check_special_tokens.
[[nodiscard]] Vocabulary make_vocabulary(std::span<const Merge> merges,
                                         std::span<const std::string> special_tokens);

/// Throws unless each special token is valid UTF-8, longer than a byte, different from the others,
/// and without letters that stand for a byte in vocab.json (U+00A1 to U+0143), by which a file
/// would no longer tell it from other tokens.
void check_special_tokens(std::span<const std::string> special_tokens);

/// Reads vocab.json and merges.txt; Tokenizer::load tells what is refused.
[[nodiscard]] Vocabulary read_vocabulary(const Path& vocab_json, const Path& merges_txt);

/// Writes folder/vocab.json (ids ascending, ASCII only, as Python's json module would) and
/// folder/merges.txt (after a line "#version: 0.2"), each whole or not at all.
void write_vocabulary(const Vocabulary& vocabulary, const Path& folder);

}  // namespace trireme::text
