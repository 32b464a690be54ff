#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/file.h"
#include "data/decompressor.h"

namespace trireme::data {

enum class CorpusFormat {
  automatic,  ///< by the name, less .gz and .zst: .jsonl, .ndjson and .json are JSONL, everything
              ///< else is plain text
  text,
  jsonl,  ///< one JSON object a line; blank lines are skipped
};

struct CorpusOptions {
  /// Files and folders, in this order; a folder stands for all its files, also in folders below it,
  /// in the order of their paths, names that begin with a dot left out.
  std::vector<Path> inputs = {};
  CorpusFormat format = CorpusFormat::automatic;
  /// Plain text: what stands between two documents of a file and belongs to neither; documents
  /// without a byte are left out. Empty: a file is a document.
  std::string split_documents_on = {};
  /// Whether the tokenizer cuts_at_lines(). Otherwise a document is one piece, however long.
  bool cuts_at_lines = true;
};

/// A stretch of the corpus that can be encoded by itself: a line of JSONL, or a part of a plain
/// text that was cut where the cut changes no token (text::find_cut).
struct CorpusPiece {
  size_t begin = 0;  ///< in CorpusBatch::buffer
  size_t size = 0;
  size_t file = 0;   ///< in CorpusReader::files()
  int64_t line = 0;  ///< of a JSONL file, from 1; 0 for plain text
  bool is_json = false;
  bool ends_document = true;
  bool document_is_empty = false;  ///< where it ends a document: no byte in any of its pieces
};

struct CorpusBatch {
  std::string buffer;  ///< kCorpusPadding readable bytes lie behind each piece
  std::vector<CorpusPiece> pieces;
  [[nodiscard]] std::string_view text(const CorpusPiece& piece) const {
    return std::string_view(buffer).substr(piece.begin, piece.size);
  }
};

/// What the JSON parser may read behind a line.
inline constexpr size_t kCorpusPadding = 64;

/// Reads a corpus of any size in order, batch by batch. Memory: a batch, and the longest line or
/// text without a place to cut.
class CorpusReader {
 public:
  /// Files whose names end in .gz or .zst are decompressed (decompressor.h). Throws when an input
  /// is missing, unreadable, compressed in another way or a folder without files.
  explicit CorpusReader(CorpusOptions options);
  ~CorpusReader();
  CorpusReader(const CorpusReader&) = delete;
  CorpusReader& operator=(const CorpusReader&) = delete;

  /// Replaces the batch by the next pieces, about target_bytes of them and at least one. Returns
  /// false at the end of the corpus.
  [[nodiscard]] bool next(CorpusBatch& batch, size_t target_bytes);

  [[nodiscard]] const std::vector<Path>& files() const { return files_; }
  [[nodiscard]] bool is_json(size_t file) const;
  /// Bytes of all files, compressed as they are; 0 when some are pipes.
  [[nodiscard]] uint64_t total_bytes() const { return total_bytes_; }
  /// The part of them that was read.
  [[nodiscard]] uint64_t bytes_read() const {
    return bytes_of_whole_files_ + (open_ == nullptr ? 0 : open_->file_bytes_read());
  }
  /// Bytes of text, decompressed.
  [[nodiscard]] uint64_t text_bytes() const { return text_bytes_; }

 private:
  void open_next_file(size_t at);
  void cut_records(CorpusBatch& batch);
  void cut_long_text(CorpusBatch& batch);
  void finish_file(CorpusBatch& batch);
  void take(CorpusBatch& batch, size_t size, bool ends_document);

  CorpusOptions options_;
  std::vector<Path> files_;
  uint64_t total_bytes_ = 0;
  uint64_t bytes_of_whole_files_ = 0;
  uint64_t text_bytes_ = 0;

  std::unique_ptr<TextFile> open_;  // files_[file_]
  size_t file_ = 0;
  bool json_ = false;
  int64_t line_ = 1;
  bool document_open_ = false;  // pieces of the document were taken already
  std::string delimiter_;       // between the records of the open file; empty: none
  std::string rest_;            // read but not taken yet, between two batches
  // Places in the buffer of the batch being filled.
  size_t start_ = 0;     // of the first byte not taken
  size_t searched_ = 0;  // no delimiter begins before
  size_t cut_at_ = 0;    // bytes of text that make the next search for a cut worth it
};

}  // namespace trireme::data
