#pragma once
#include <cstdint>
#include <span>

#include "core/mapped_file.h"
#include "core/thread_pool.h"
#include "data/indexed_format.h"

namespace trireme::data {

/// Reader of PREFIX.idx and PREFIX.bin (indexed_format.h), both mapped. Immutable after it is made,
/// so any number of threads may read.
///
/// The constructor reads all of .idx and checks it against itself and against the size of .bin:
/// magic, version, token type, counts, lengths, offsets, document bounds. Whatever passes can be
/// read without a further check. Throws an Error that names the file and what was found.
class IndexedDataset {
 public:
  explicit IndexedDataset(Path prefix);

  [[nodiscard]] const Path& prefix() const { return prefix_; }
  [[nodiscard]] TokenType token_type() const { return type_; }
  [[nodiscard]] int64_t sequences() const { return sequences_; }
  [[nodiscard]] int64_t documents() const { return documents_; }
  [[nodiscard]] int64_t tokens() const { return tokens_; }

  /// Tokens of a sequence.
  [[nodiscard]] int64_t length(int64_t sequence) const;
  /// Where a sequence starts in the tokens of read_stream(); of sequences(): their end.
  [[nodiscard]] int64_t first_token(int64_t sequence) const;
  /// First sequence of document in [0, documents()]; the last entry is sequences().
  [[nodiscard]] int64_t first_sequence(int64_t document) const;

  /// Tokens [offset, offset + out.size()) of a sequence. The range must lie inside it. Ids that do
  /// not fit i32 become -1, which no vocabulary has.
  void read(int64_t sequence, int64_t offset, std::span<int32_t> out) const;

  /// Tokens [first, first + out.size()) of the whole .bin, whatever sequence they belong to.
  void read_stream(int64_t first, std::span<int32_t> out) const;

  /// Largest token id, -1 where there is no token. Reads all of .bin.
  [[nodiscard]] int64_t largest_token(ThreadPool& pool) const;

 private:
  Path prefix_;
  MappedFile index_;
  MappedFile bin_;
  TokenType type_ = TokenType::u16;
  int64_t sequences_ = 0;
  int64_t documents_ = 0;
  int64_t tokens_ = 0;
  // Arrays of .idx, unaligned.
  const std::byte* lengths_ = nullptr;
  const std::byte* offsets_ = nullptr;
  const std::byte* document_bounds_ = nullptr;
};

}  // namespace trireme::data
