#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "core/file.h"

namespace trireme::data {

enum class Compression { none, gzip, zstd };

/// By the name's end: .gz, .zst.
[[nodiscard]] Compression compression_of(const Path& path);
/// The name without the end that says how it is compressed: "c.jsonl" of "c.jsonl.gz".
[[nodiscard]] Path name_inside(const Path& path);

/// Fills the bytes and returns how many; 0 at the end only.
using ByteSource = std::function<size_t(std::span<char>)>;

/// Decompresses a stream piece by piece. gzip: any number of members, zeros behind the last one
/// (RFC 1952). Zstandard: any number of frames, skippable ones too (RFC 8878), with windows up to
/// 128 MiB. Memory: two buffers of 256 KiB and the library's window.
///
/// A stream that ends within a member or frame, has anything else behind it, is empty, or fails its
/// checksums is refused with its name and the position in it: nothing is lost in silence.
class Decompressor {
 public:
  /// name: for messages
  Decompressor(Compression kind, ByteSource source, std::string name);
  ~Decompressor();
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;

  /// Fills the bytes as far as there are some; 0 at the end only.
  [[nodiscard]] size_t read(std::span<char> bytes);

  /// What a library makes of the stream.
  class Codec;

 private:
  std::unique_ptr<Codec> codec_;
};

/// A corpus file's text: the file's own bytes, or what is compressed in it.
class TextFile {
 public:
  explicit TextFile(const Path& path);

  [[nodiscard]] size_t read(std::span<char> bytes);
  /// Bytes of the file, compressed as they are, that were read so far.
  [[nodiscard]] uint64_t file_bytes_read() const { return file_bytes_read_; }

 private:
  InputFile file_;
  uint64_t file_bytes_read_ = 0;
  std::optional<Decompressor> decompressor_;
};

}  // namespace trireme::data
