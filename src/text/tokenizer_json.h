#pragma once
#include <string>
#include <string_view>

#include "core/file.h"
#include "text/vocabulary.h"

namespace trireme::text {

/// The file tokenizer.json of Hugging Face's `tokenizers`, as far as it holds byte-level BPE:
///
///   model           BPE over the letters of byte_alphabet.h; ignore_merges
///   pre_tokenizer   ByteLevel, or Split (Isolated) and then ByteLevel without its own pattern
///   normalizer      none
///   decoder         ByteLevel
///   added_tokens    special ones become Vocabulary::special, the others Vocabulary::added
///   post_processor  none, ByteLevel, TemplateProcessing: what the last adds around a text is never
///                   added here; the end of a document is added where it is asked for
///
/// Whatever else would change the tokens is refused with the name of its key: other models
/// (Unigram, WordPiece, WordLevel), normalizers, dropout, prefixes and suffixes, tokens that take
/// the white space around them, truncation, padding, keys that are not known.
///
/// Ids must be 0 to n - 1. `name` is the file's in messages.
[[nodiscard]] Vocabulary parse_tokenizer_json(std::string_view json, const std::string& name);
[[nodiscard]] Vocabulary read_tokenizer_json(const Path& file);

/// The file that the reader above, and Hugging Face's `tokenizers`, read as this vocabulary;
/// end_of_document has no place in it. ASCII only.
[[nodiscard]] std::string to_tokenizer_json(const Vocabulary& vocabulary);

}  // namespace trireme::text
