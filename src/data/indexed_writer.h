#pragma once
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "core/file.h"
#include "data/indexed_format.h"

namespace trireme::data {

/// Writes PREFIX.bin and PREFIX.idx as Megatron-LM's builder does, byte for byte, in one pass.
///
/// Memory: 4 bytes per sequence and 4 per document, beside the files' buffers. Both files are whole
/// or absent: they appear at commit(), .idx last, and an older .idx of that name goes first, so a
/// kill at any moment leaves no .idx beside a .bin that is not its own. Destroyed without commit(),
/// nothing is left (and an older pair stays). Throws with the path when a file cannot be written.
class IndexedWriter {
 public:
  IndexedWriter(Path prefix, TokenType type);

  /// Appends tokens to the open sequence. Every id must fit the token type.
  void append(std::span<const int32_t> tokens);
  /// Closes the sequence, which belongs to the open document; it may be empty.
  void end_sequence();
  /// Closes the document; one without sequences is kept as an empty document.
  void end_document();
  /// Writes and syncs everything under temporary names: behind it commit() only renames. Where
  /// several datasets belong together, all are prepared before the first is committed.
  void prepare();
  /// Prepares unless that was done, and gives the files their names.
  void commit();

  [[nodiscard]] const Path& prefix() const { return prefix_; }
  [[nodiscard]] TokenType token_type() const { return type_; }
  [[nodiscard]] int64_t sequences() const { return static_cast<int64_t>(lengths_.size()); }
  [[nodiscard]] int64_t documents() const {
    return static_cast<int64_t>(document_sequences_.size());
  }
  [[nodiscard]] int64_t tokens() const { return tokens_; }

 private:
  void write_index();

  Path prefix_;
  TokenType type_;
  AtomicFile bin_;
  AtomicFile index_;
  std::deque<int32_t> lengths_;  // deques: no copy twice the size while they grow
  std::deque<uint32_t> document_sequences_;
  int64_t open_tokens_ = 0;
  uint32_t open_sequences_ = 0;
  int64_t tokens_ = 0;
  bool prepared_ = false;
  std::vector<std::byte> converted_;
};

}  // namespace trireme::data
