#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/file.h"
#include "text/vocabulary.h"

namespace trireme::text {

struct EncodeOptions {
  /// Whether the text of a special token inside the input becomes that token (leftmost, longest
  /// first). Off: text stays text, so that a document cannot forge the end of a document.
  bool parse_special_tokens = false;
};

/// Byte-level BPE as in GPT-2 and Llama 3, immutable once made; every const function may be called
/// by any number of threads.
///
/// Encoding
///   1. The texts of added tokens, if there are any, become those tokens, the leftmost first and at
///      one place the longest.
///   2. What lies between them is cut into pieces by the split pattern (pattern.h, split.h).
///   3. With ignore_merges a piece that is a token becomes that token.
///   4. The bytes of every other piece become tokens, one for each. As long as two neighbours are
///      the pair of a merge, those are joined whose merge comes first, the leftmost of equal ones.
///      (GPT-2's own encoder joins all equal ones at once. The outcome is another only where two
///      pairs make one token, and there this is what tiktoken and Hugging Face's tokenizers do.)
///
/// Any bytes may be encoded, and decode(encode(bytes)) == bytes. A byte that belongs to no valid
/// UTF-8 sequence (overlong forms, surrogates and numbers above U+10FFFF are not valid) counts as a
/// character of its own: a symbol, neither letter nor number nor space. What is a letter or a
/// number is what the Unicode tables of the installed PCRE2 say.
///
/// Special tokens are the entries of vocab.json that are neither a byte nor made by a merge, or the
/// added tokens of tokenizer.json that are called special. They stand for their own text.
///
/// Source: Radford et al. 2019, section 2.2, and the encoder published with it.
class Tokenizer {
 public:
  /// Reads vocab.json and merges.txt as GPT-2 publishes them. Throws with file and line, or file
  /// and key, when they are malformed or do not fit together: ids that are double, missing or no
  /// number; a byte without an entry; a merge that is double, or whose parts or result have no
  /// entry; an entry that merges should make and do not.
  [[nodiscard]] static Tokenizer load(const Path& vocab_json, const Path& merges_txt);
  /// Reads a tokenizer.json (tokenizer_json.h tells what is refused), or from a folder its
  /// tokenizer.json, else its vocab.json and merges.txt.
  [[nodiscard]] static Tokenizer load(const Path& model);

  /// From a vocabulary that one of the functions of vocabulary.h has made.
  explicit Tokenizer(Vocabulary vocabulary);
  ~Tokenizer();
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;

  /// write_vocabulary: tokenizer.json, and vocab.json and merges.txt where they can say the same.
  /// Those have the form of GPT-2's own files: loaded and saved, they come out byte for byte.
  void save(const Path& folder) const;

  /// Number of ids; they are 0 .. vocab_size() - 1.
  [[nodiscard]] int32_t vocab_size() const;
  /// The token that ends a document (Vocabulary::end_of_document), when there is one.
  [[nodiscard]] std::optional<int32_t> end_of_text() const;
  /// Whether texts may be cut at find_cut without a change of their tokens.
  [[nodiscard]] bool cuts_at_lines() const;
  /// Ids of the special tokens, ascending.
  [[nodiscard]] std::span<const int32_t> special_tokens() const;
  [[nodiscard]] const Vocabulary& vocabulary() const;

  /// Appends the tokens of the text to out. Long or many texts: an Encoder per thread is faster.
  void encode(std::string_view text, std::vector<int32_t>& out, EncodeOptions options = {}) const;
  [[nodiscard]] std::vector<int32_t> encode(std::string_view text,
                                            EncodeOptions options = {}) const;

  /// The bytes of the tokens, joined; special tokens give their text. Throws for an id outside the
  /// vocabulary.
  [[nodiscard]] std::string decode(std::span<const int32_t> ids) const;

  /// The bytes of one token, valid as long as the tokenizer. Throws for an id outside the
  /// vocabulary.
  [[nodiscard]] std::string_view token_bytes(int32_t id) const;
  /// The token with exactly these bytes, or the special token with this text.
  [[nodiscard]] std::optional<int32_t> id_of(std::string_view bytes) const;

 private:
  friend class Encoder;
  struct State;
  std::unique_ptr<const State> state_;
};

/// Encodes with memory: a cache of words (2 MiB) and scratch space, so that one object serves one
/// thread and many texts. The result never depends on what was encoded before. The tokenizer may be
/// moved but must outlive it.
class Encoder {
 public:
  explicit Encoder(const Tokenizer& tokenizer);
  ~Encoder();
  Encoder(Encoder&&) noexcept;
  Encoder& operator=(Encoder&&) noexcept;

  /// Appends the tokens of the text to out. Time O(n log n) in the longest piece, O(n) otherwise.
  /// Throws for a single piece of 4 GiB or more.
  void encode(std::string_view text, std::vector<int32_t>& out, EncodeOptions options = {});

 private:
  friend class Tokenizer;
  struct Scratch;
  explicit Encoder(std::unique_ptr<Scratch> scratch);
  std::unique_ptr<Scratch> scratch_;
};

/// The largest position in (0, limit] at which the text may be cut in two without a change of its
/// tokens, by a tokenizer that cuts_at_lines(); 0 when there is none. Such places are behind a line
/// feed that has no white space on either side. For texts that do not fit in memory and for work in
/// parallel.
[[nodiscard]] size_t find_cut(std::string_view text, size_t limit);

}  // namespace trireme::text
