#include "data/indexed_dataset.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/format.h"

namespace trireme::data {
namespace {

static_assert(std::endian::native == std::endian::little, "the files are little-endian");

constexpr int64_t kScanTokens = int64_t{1} << 20;  // tokens per task of a scan

// The prefix, if its .idx is there; otherwise the likeliest mistake in words.
Path existing(Path prefix) {
  std::error_code ignored;
  if (std::filesystem::exists(index_path(prefix), ignored)) return prefix;
  std::string remedy = "make one with trireme preprocess";
  const Path extension = prefix.extension();
  const Path of_preprocess = prefix.string() + "_text_document";
  if (extension == ".bin" || extension == ".idx") {
    remedy = format("leave the ending out: {}", Path(prefix).replace_extension().string());
  } else if (std::filesystem::exists(index_path(of_preprocess), ignored)) {
    remedy = format("you may mean {}", of_preprocess.string());
  }
  fail({.where = index_path(prefix).string(),
        .what = "there is no such file",
        .rule = "a dataset is a pair PREFIX.bin and PREFIX.idx, named by PREFIX",
        .remedy = remedy});
}

template <class T>
T load(const std::byte* base, int64_t index = 0) {
  T value;
  std::memcpy(&value, base + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

/// Calls f with a value of the stored type.
template <class F>
void with_type(TokenType type, F&& f) {
  switch (type) {
    case TokenType::u8:
      return f(uint8_t{});
    case TokenType::i8:
      return f(int8_t{});
    case TokenType::i16:
      return f(int16_t{});
    case TokenType::u16:
      return f(uint16_t{});
    case TokenType::i32:
      return f(int32_t{});
    case TokenType::i64:
      return f(int64_t{});
  }
}

template <class T>
int32_t to_id(T token) {
  if constexpr (sizeof(T) > sizeof(int32_t)) {
    return token >= 0 && token <= std::numeric_limits<int32_t>::max() ? static_cast<int32_t>(token)
                                                                      : -1;
  } else {
    return static_cast<int32_t>(token);
  }
}

[[noreturn]] void fail_index(const Path& path, std::string what) {
  fail({.where = path.string(),
        .what = std::move(what),
        .rule = "the file is damaged or was not written to its end",
        .remedy = "make it again with `trireme preprocess`"});
}

std::string printable(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) {
    const char letter = static_cast<char>(byte);
    text += letter >= ' ' && letter <= '~' ? std::string(1, letter)
                                           : format("\\x{:02x}", std::to_integer<int>(byte));
  }
  return text;
}

struct Header {
  TokenType type = TokenType::u16;
  int64_t sequences = 0;
  int64_t document_entries = 0;
};

/// Checks everything up to the arrays, and that the arrays fill the rest of the file.
Header read_header(const Path& path, std::span<const std::byte> bytes) {
  const auto magic = std::as_bytes(std::span(kIndexMagic));
  if (bytes.size() >= magic.size() && !std::equal(magic.begin(), magic.end(), bytes.begin())) {
    fail({.where = path.string(),
          .what = format("begins with \"{}\"", printable(bytes.first(magic.size()))),
          .rule = format("an indexed dataset begins with \"{}\"", printable(magic)),
          .remedy = "give the prefix of a .bin/.idx pair made by `trireme preprocess` or "
                    "Megatron-LM's preprocess_data.py"});
  }
  if (bytes.size() < kIndexHeaderBytes) {
    fail_index(path,
               format("has {} bytes, its header alone takes {}", bytes.size(), kIndexHeaderBytes));
  }
  const auto version = load<uint64_t>(bytes.data() + 9);
  if (version != kIndexVersion) {
    fail({.where = path.string(),
          .what = format("has format version {}", version),
          .rule = format("version {} is the one known", kIndexVersion)});
  }
  const auto code = load<uint8_t>(bytes.data() + 17);
  const std::optional<TokenType> type = token_type_of(code);
  if (!type) {
    fail({.where = path.string(),
          .what = format("has token type code {}{}", code,
                         code == 6 || code == 7 ? ", a floating type" : ""),
          .rule = "tokens are integers: codes 1 (u8), 2 (i8), 3 (i16), 4 (i32), 5 (i64), 8 (u16)",
          .remedy = "make the dataset again with `trireme preprocess`"});
  }
  const auto sequences = load<uint64_t>(bytes.data() + 18);
  const auto entries = load<uint64_t>(bytes.data() + 26);
  const uint64_t rest = bytes.size() - kIndexHeaderBytes;
  // Divisions, so that counts near 2^64 cannot wrap into something that fits.
  if (entries == 0) fail_index(path, "has an empty document array");
  if (sequences > rest / 12 || entries > (rest - sequences * 12) / 8) {
    fail_index(path, format("has {} bytes, too few for the {} sequences and {} documents it counts",
                            bytes.size(), sequences, entries - 1));
  }
  const uint64_t extra = rest - sequences * 12 - entries * 8;
  if (extra != 0 && extra == sequences) {
    fail({.where = path.string(),
          .what = "has a mode for each sequence, as multimodal datasets have",
          .rule = "only text datasets are supported"});
  }
  if (extra != 0) {
    fail_index(path, format("has {} bytes more than its {} sequences and {} documents take", extra,
                            sequences, entries - 1));
  }
  return {*type, static_cast<int64_t>(sequences), static_cast<int64_t>(entries)};
}

}  // namespace

IndexedDataset::IndexedDataset(Path prefix)
    : prefix_(existing(std::move(prefix))),
      index_(index_path(prefix_)),
      bin_(tokens_path(prefix_)) {
  const Path path = index_path(prefix_);
  const Header header = read_header(path, index_.bytes());
  type_ = header.type;
  sequences_ = header.sequences;
  documents_ = header.document_entries - 1;
  lengths_ = index_.bytes().data() + kIndexHeaderBytes;
  offsets_ = lengths_ + 4 * sequences_;
  document_bounds_ = offsets_ + 8 * sequences_;

  const int64_t item = bytes_of(type_);
  for (int64_t sequence = 0; sequence < sequences_; ++sequence) {
    const auto tokens = load<int32_t>(lengths_, sequence);
    const auto offset = load<int64_t>(offsets_, sequence);
    if (tokens < 0) fail_index(path, format("says sequence {} has {} tokens", sequence, tokens));
    if (offset != tokens_ * item) {
      fail_index(path, format("says sequence {} starts at byte {}, the lengths before it make {}",
                              sequence, offset, tokens_ * item));
    }
    tokens_ += tokens;
  }
  const auto bin_bytes = static_cast<int64_t>(bin_.bytes().size());
  if (bin_bytes != tokens_ * item) {
    fail({.where = tokens_path(prefix_).string(),
          .what = format("has {} bytes, {} says {} ({} tokens of {})", bin_bytes, path.string(),
                         tokens_ * item, tokens_, name_of(type_)),
          .rule = bin_bytes < tokens_ * item ? "the file was not written or copied to its end"
                                             : "the two files do not belong together",
          .remedy = "copy both files again, or make them with `trireme preprocess`"});
  }

  int64_t before = 0;
  for (int64_t entry = 0; entry <= documents_; ++entry) {
    const auto bound = load<int64_t>(document_bounds_, entry);
    const bool first_or_last =
        (entry > 0 || bound == 0) && (entry < documents_ || bound == sequences_);
    if (!first_or_last || bound < before || bound > sequences_) {
      fail_index(path,
                 format("has document bound {} = {}; bounds ascend from 0 to the {} sequences",
                        entry, bound, sequences_));
    }
    before = bound;
  }
}

int64_t IndexedDataset::length(int64_t sequence) const {
  TRIREME_ASSERT(sequence >= 0 && sequence < sequences_, "a sequence of the dataset");
  return load<int32_t>(lengths_, sequence);
}

int64_t IndexedDataset::first_token(int64_t sequence) const {
  TRIREME_ASSERT(sequence >= 0 && sequence <= sequences_, "a sequence of the dataset or its end");
  return sequence == sequences_ ? tokens_ : load<int64_t>(offsets_, sequence) / bytes_of(type_);
}

int64_t IndexedDataset::first_sequence(int64_t document) const {
  TRIREME_ASSERT(document >= 0 && document <= documents_, "a document of the dataset or its end");
  return load<int64_t>(document_bounds_, document);
}

void IndexedDataset::read(int64_t sequence, int64_t offset, std::span<int32_t> out) const {
  TRIREME_ASSERT(offset >= 0 && static_cast<int64_t>(out.size()) <= length(sequence) - offset,
                 "a range inside the sequence");
  read_stream(load<int64_t>(offsets_, sequence) / bytes_of(type_) + offset, out);
}

void IndexedDataset::read_stream(int64_t first, std::span<int32_t> out) const {
  TRIREME_ASSERT(first >= 0 && static_cast<int64_t>(out.size()) <= tokens_ - first,
                 "a range inside the tokens");
  with_type(type_, [&](auto zero) {
    using T = decltype(zero);
    const std::byte* from = bin_.bytes().data() + first * static_cast<int64_t>(sizeof(T));
    for (size_t i = 0; i < out.size(); ++i) out[i] = to_id(load<T>(from, static_cast<int64_t>(i)));
  });
}

int64_t IndexedDataset::largest_token(ThreadPool& pool) const {
  const int64_t blocks = (tokens_ + kScanTokens - 1) / kScanTokens;
  std::vector<int64_t> largest(static_cast<size_t>(blocks), -1);
  with_type(type_, [&](auto zero) {
    using T = decltype(zero);
    pool.parallel_for(blocks, [&](int64_t block, int) {
      const int64_t end = std::min(tokens_, (block + 1) * kScanTokens);
      T most = std::numeric_limits<T>::lowest();
      for (int64_t token = block * kScanTokens; token < end; ++token)
        most = std::max(most, load<T>(bin_.bytes().data(), token));
      // NOLINTNEXTLINE(bugprone-signed-char-misuse): a token of one byte is a number
      largest[static_cast<size_t>(block)] = static_cast<int64_t>(most);
    });
  });
  int64_t most = -1;
  for (const int64_t value : largest) most = std::max(most, value);
  return most;
}

}  // namespace trireme::data
