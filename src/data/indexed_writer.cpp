#include "data/indexed_writer.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "core/error.h"
#include "core/format.h"

namespace trireme::data {
namespace {

/// Appends numbers to a file as they lie in memory.
template <class T>
void put(AtomicFile& file, T value) {
  static_assert(std::is_integral_v<T>);
  file.write(std::as_bytes(std::span(&value, 1)));
}

template <class T>
void convert(std::span<const int32_t> tokens, std::vector<std::byte>& bytes) {
  bytes.resize(tokens.size() * sizeof(T));
  for (size_t i = 0; i < tokens.size(); ++i) {
    const auto stored = static_cast<T>(tokens[i]);
    std::memcpy(bytes.data() + i * sizeof(T), &stored, sizeof(T));
  }
}

}  // namespace

IndexedWriter::IndexedWriter(Path prefix, TokenType type)
    : prefix_(std::move(prefix)),
      type_(type),
      bin_(tokens_path(prefix_)),
      index_(index_path(prefix_)) {
  TRIREME_ASSERT(type == TokenType::u16 || type == TokenType::i32, "the types that are written");
}

void IndexedWriter::append(std::span<const int32_t> tokens) {
  if (type_ == TokenType::u16) {
    TRIREME_ASSERT(std::all_of(tokens.begin(), tokens.end(),
                               [](int32_t token) { return token >= 0 && token <= 0xffff; }),
                   "token ids that fit the file's type");
    convert<uint16_t>(tokens, converted_);
    bin_.write(converted_);
  } else {
    bin_.write(std::as_bytes(tokens));
  }
  open_tokens_ += static_cast<int64_t>(tokens.size());
  tokens_ += static_cast<int64_t>(tokens.size());
}

void IndexedWriter::end_sequence() {
  if (open_tokens_ > std::numeric_limits<int32_t>::max()) {
    fail({.where = index_path(prefix_).string(),
          .what = format("document {} has a sequence of {} tokens", documents(), open_tokens_),
          .rule = "the format counts a sequence's tokens in 31 bits",
          .remedy = "split the document"});
  }
  lengths_.push_back(static_cast<int32_t>(open_tokens_));
  open_tokens_ = 0;
  ++open_sequences_;
}

void IndexedWriter::end_document() {
  TRIREME_ASSERT(open_tokens_ == 0, "every sequence was ended");
  document_sequences_.push_back(std::exchange(open_sequences_, 0));
}

void IndexedWriter::prepare() {
  TRIREME_ASSERT(open_tokens_ == 0 && open_sequences_ == 0, "every document was ended");
  TRIREME_ASSERT(!prepared_, "a dataset is prepared once");
  write_index();
  index_.sync();
  bin_.sync();
  prepared_ = true;
}

void IndexedWriter::commit() {
  if (!prepared_) prepare();
  std::error_code error;
  std::filesystem::remove(index_path(prefix_), error);
  if (error) {
    fail({.where = index_path(prefix_).string(),
          .what = format("cannot replace: {}", error.message())});
  }
  bin_.commit();
  index_.commit();
}

void IndexedWriter::write_index() {
  index_.write(kIndexMagic);
  put(index_, kIndexVersion);
  put(index_, static_cast<uint8_t>(type_));
  put(index_, static_cast<uint64_t>(lengths_.size()));
  put(index_, static_cast<uint64_t>(document_sequences_.size() + 1));
  for (const int32_t length : lengths_) put(index_, length);
  int64_t offset = 0;
  for (const int32_t length : lengths_) {
    put(index_, offset);
    offset += length * bytes_of(type_);
  }
  int64_t bound = 0;
  put(index_, bound);
  for (const uint32_t sequences : document_sequences_) {
    bound += sequences;
    put(index_, bound);
  }
}

}  // namespace trireme::data
