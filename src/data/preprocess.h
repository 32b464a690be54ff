#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/thread_pool.h"
#include "data/corpus_reader.h"
#include "data/indexed_format.h"
#include "text/tokenizer.h"

namespace trireme::data {

/// What happens to a line of JSONL that cannot be read as asked.
enum class OnBadLine { fail, skip };

struct PreprocessOptions {
  CorpusOptions corpus;
  /// Keys of JSONL whose texts are taken, one pair of files for each. Plain text is the key "text".
  std::vector<std::string> json_keys = {"text"};
  /// Files are PREFIX_KEY_document.bin and .idx; the folder is made.
  Path output_prefix = {};
  /// The tokenizer's end-of-document token behind every document that has a token.
  bool append_eod = false;
  OnBadLine on_bad_line = OnBadLine::fail;
  bool show_progress = true;
  int64_t log_interval = 100000;  ///< documents between two lines of progress off a terminal
};

/// What was written for one key.
struct PreprocessedDataset {
  std::string key;
  Path prefix;  ///< PREFIX_KEY_document, for --data-path
  TokenType token_type = TokenType::u16;
  int64_t documents = 0;
  int64_t sequences = 0;
  int64_t tokens = 0;
  uint64_t text_bytes = 0;  ///< of the corpus as read, the same for all keys
};

struct Preprocessed {
  std::vector<PreprocessedDataset> datasets;
  int64_t skipped_lines = 0;
  std::vector<std::string> first_skipped;  ///< file, line and reason of the first few
};

/// Turns a corpus into indexed datasets, byte for byte as Megatron-LM's preprocess_data.py does:
/// documents keep their order; a text without a token makes no sequence, and a document without a
/// sequence stays as an empty one; the text of a special token inside a document is text.
///
/// Encodes on all threads of the pool; memory is a few MiB for each thread, the longest line or
/// document without a place to cut, and 8 bytes per document (IndexedWriter). Either all files are
/// there at the end or, when it throws, none is new.
[[nodiscard]] Preprocessed preprocess(const PreprocessOptions& options,
                                      const text::Tokenizer& tokenizer, ThreadPool& pool);

}  // namespace trireme::data
