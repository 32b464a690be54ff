#include "data/decompressor.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/format.h"

namespace trireme::data {

// A buffer of the compressed stream, and what the libraries have in common.
class Decompressor::Codec {
 public:
  Codec(ByteSource source, std::string name) : source_(std::move(source)), name_(std::move(name)) {}
  virtual ~Codec() = default;
  Codec(const Codec&) = delete;
  Codec& operator=(const Codec&) = delete;

  virtual size_t read(std::span<char> bytes) = 0;

 protected:
  // Input that was not taken yet; empty at the end of the stream only.
  std::span<char> input() {
    if (taken_ == filled_) {
      filled_ = source_(buffer_);
      taken_ = 0;
    }
    return std::span(buffer_).subspan(taken_, filled_ - taken_);
  }
  void take(size_t bytes) {
    taken_ += bytes;
    position_ += bytes;
  }
  [[nodiscard]] bool at_start() const { return position_ == 0; }

  [[noreturn]] void refuse(const std::string& what) const {
    fail({.where = format("{}, byte {}", name_, position_),
          .what = what,
          .rule = "a compressed file is read to its end or not at all",
          .remedy = "make the file again, or leave it out"});
  }
  [[noreturn]] void refuse_end(const char* unit) const {
    refuse(at_start() ? "the file is empty: nothing was ever compressed into it"
                      : format("the file ends within a {}: it was cut off", unit));
  }

 private:
  static constexpr size_t kBufferBytes = size_t{256} << 10;

  ByteSource source_;
  std::string name_;
  std::vector<char> buffer_ = std::vector<char>(kBufferBytes);
  size_t filled_ = 0;
  size_t taken_ = 0;
  uint64_t position_ = 0;
};

namespace {

class Gzip final : public Decompressor::Codec {
 public:
  Gzip(ByteSource source, std::string name) : Codec(std::move(source), std::move(name)) {
    constexpr int kGzipOnly = 15 + 16;  // the largest window; a gzip head, no bare zlib stream
    if (inflateInit2(&stream_, kGzipOnly) != Z_OK) refuse("no memory to decompress");
  }
  ~Gzip() override { inflateEnd(&stream_); }

  size_t read(std::span<char> bytes) override {
    size_t got = 0;
    while (got < bytes.size()) {
      std::span<char> in = input();
      if (!in_member_ && !start_member(in)) break;
      if (in.empty()) refuse_end("member");
      stream_.next_in = reinterpret_cast<Bytef*>(in.data());
      stream_.avail_in = static_cast<uInt>(in.size());
      stream_.next_out = reinterpret_cast<Bytef*>(bytes.data() + got);
      const size_t room = std::min(bytes.size() - got, size_t{1} << 30);
      stream_.avail_out = static_cast<uInt>(room);
      const int status = inflate(&stream_, Z_NO_FLUSH);
      take(in.size() - stream_.avail_in);
      got += room - stream_.avail_out;
      if (status == Z_STREAM_END) in_member_ = false;
      if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR) {
        refuse(format("the file is damaged or no gzip file: {}",
                      stream_.msg == nullptr ? zError(status) : stream_.msg));
      }
    }
    return got;
  }

 private:
  // False at the end of the file; zeros behind the last member, as tapes leave them, are passed.
  bool start_member(std::span<char>& in) {
    while (!at_start() && !in.empty() && in.front() == '\0') {
      const auto zeros = std::find_if(in.begin(), in.end(), [](char c) { return c != '\0'; });
      take(static_cast<size_t>(zeros - in.begin()));
      padded_ = true;
      in = input();
    }
    if (in.empty()) {
      if (at_start()) refuse_end("member");
      return false;
    }
    if (padded_) refuse("there is something behind the zeros that end the file");
    if (inflateReset(&stream_) != Z_OK) refuse("cannot begin with the next member");
    in_member_ = true;
    return true;
  }

  z_stream stream_ = {};
  bool in_member_ = false;
  bool padded_ = false;
};

class Zstandard final : public Decompressor::Codec {
 public:
  Zstandard(ByteSource source, std::string name)
      : Codec(std::move(source), std::move(name)), stream_(ZSTD_createDStream()) {
    if (stream_ == nullptr) refuse("no memory to decompress");
  }
  ~Zstandard() override { ZSTD_freeDStream(stream_); }

  size_t read(std::span<char> bytes) override {
    ZSTD_outBuffer out = {bytes.data(), bytes.size(), 0};
    while (out.pos < out.size) {
      const std::span<char> in = input();
      if (in.empty() && !in_frame_) {
        if (at_start()) refuse_end("frame");
        break;
      }
      const size_t before = out.pos;
      ZSTD_inBuffer from = {in.data(), in.size(), 0};
      const size_t status = ZSTD_decompressStream(stream_, &out, &from);
      take(from.pos);
      if (ZSTD_isError(status) != 0) {
        refuse(format("the file is damaged or no Zstandard file: {}", ZSTD_getErrorName(status)));
      }
      in_frame_ = status != 0;
      // Without input there may still be output that the library holds.
      if (in.empty() && in_frame_ && out.pos == before) refuse_end("frame");
    }
    return out.pos;
  }

 private:
  ZSTD_DStream* stream_;
  bool in_frame_ = false;
};

bool ends_with(const Path& path, std::string_view end) {
  const std::string name = path.filename().string();
  if (name.size() <= end.size()) return false;
  return std::equal(end.begin(), end.end(), name.end() - static_cast<std::ptrdiff_t>(end.size()),
                    [](char a, char b) { return a == (b >= 'A' && b <= 'Z' ? b - 'A' + 'a' : b); });
}

std::unique_ptr<Decompressor::Codec> make_codec(Compression kind, ByteSource source,
                                                std::string name) {
  if (kind == Compression::gzip) return std::make_unique<Gzip>(std::move(source), std::move(name));
  TRIREME_ASSERT(kind == Compression::zstd, "something is compressed");
  return std::make_unique<Zstandard>(std::move(source), std::move(name));
}

}  // namespace

Compression compression_of(const Path& path) {
  if (ends_with(path, ".gz")) return Compression::gzip;
  if (ends_with(path, ".zst")) return Compression::zstd;
  return Compression::none;
}

Path name_inside(const Path& path) {
  return compression_of(path) == Compression::none ? path : path.parent_path() / path.stem();
}

Decompressor::Decompressor(Compression kind, ByteSource source, std::string name)
    : codec_(make_codec(kind, std::move(source), std::move(name))) {}
Decompressor::~Decompressor() = default;

size_t Decompressor::read(std::span<char> bytes) {
  return codec_->read(bytes);
}

TextFile::TextFile(const Path& path) : file_(path) {
  const Compression kind = compression_of(path);
  if (kind == Compression::none) return;
  decompressor_.emplace(
      kind,
      [this](std::span<char> bytes) {
        const size_t got = file_.read(bytes);
        file_bytes_read_ += got;
        return got;
      },
      path.string());
}

size_t TextFile::read(std::span<char> bytes) {
  if (decompressor_) return decompressor_->read(bytes);
  const size_t got = file_.read(bytes);
  file_bytes_read_ += got;
  return got;
}

}  // namespace trireme::data
