#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/file.h"
#include "text/pattern.h"

namespace trireme::text {

/// Two token ids that are joined.
struct Merge {
  int32_t left = 0;
  int32_t right = 0;
  bool operator==(const Merge&) const = default;
};

/// The special token that GPT-2 puts behind every document, and Llama 3's.
inline constexpr std::string_view kEndOfText = "<|endoftext|>";
inline constexpr std::string_view kEndOfTextOfLlama3 = "<|end_of_text|>";

/// A byte-level BPE tokenizer as plain values. Made by the functions below and by tokenizer_json.h,
/// which check it: each of the 256 bytes is a token; ids are 0 .. tokens.size() - 1; the bytes of a
/// merge's result are those of its left and right token, joined; no two tokens have the same bytes
/// and no two merges the same pair; special and added tokens are neither bytes nor results. What is
/// neither byte, result, special nor added (only tokenizer.json may have such) is a token that
/// encoding makes with ignore_merges alone.
struct Vocabulary {
  std::vector<std::string> tokens;  ///< bytes by id; for special and added tokens their text
  std::vector<Merge> merges;        ///< in order of rank
  std::vector<int32_t> results;     ///< id that each merge makes
  std::vector<int32_t> special;     ///< ids of the special tokens, ascending
  /// Ids of tokens that are taken wherever their text stands, in any text; ascending, none special.
  std::vector<int32_t> added;
  std::string split_pattern = std::string(kGpt2Pattern);  ///< pattern.h
  /// A piece whose bytes are a token becomes that token, whatever the merges would make of it.
  bool ignore_merges = false;
  /// The special token that ends a document; unset: kEndOfText, else kEndOfTextOfLlama3, if there.
  std::optional<int32_t> end_of_document = {};

  bool operator==(const Vocabulary&) const = default;
};

/// The special or added token with this text.
[[nodiscard]] std::optional<int32_t> find_special(const Vocabulary& vocabulary,
                                                  std::string_view text);

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

/// What messages call the two files.
struct VocabularyNames {
  std::string vocab_json = "vocab.json";
  std::string merges_txt = "merges.txt";
};

/// Reads vocab.json and merges.txt; Tokenizer::load tells what is refused. The first from bytes.
[[nodiscard]] Vocabulary parse_vocabulary(std::string_view vocab_json, std::string_view merges_txt,
                                          const VocabularyNames& names = {});
[[nodiscard]] Vocabulary read_vocabulary(const Path& vocab_json, const Path& merges_txt);

/// The files that read_vocabulary(model) reads. Throws where a folder has none of them.
[[nodiscard]] std::vector<Path> tokenizer_files(const Path& model);

/// Reads a tokenizer.json, or from a folder its tokenizer.json, else its vocab.json and merges.txt.
[[nodiscard]] Vocabulary read_vocabulary(const Path& model);

/// The content of the two files: ids ascending, ASCII only, as Python's json module would write;
/// merges after a line "#version: 0.2".
[[nodiscard]] std::string to_vocab_json(const Vocabulary& vocabulary);
[[nodiscard]] std::string to_merges_txt(const Vocabulary& vocabulary);

/// Writes folder/tokenizer.json and, where they can say the same, folder/vocab.json and
/// folder/merges.txt: not with another split pattern than GPT-2's, ignore_merges, added tokens, or
/// special tokens that check_special_tokens refuses. Where they cannot, files of these names are
/// removed, so that none of another tokenizer stays. The folder is made; each file is written whole
/// or not at all.
void write_vocabulary(const Vocabulary& vocabulary, const Path& folder);

}  // namespace trireme::text
