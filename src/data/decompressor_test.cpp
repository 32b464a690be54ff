#include "data/decompressor.h"

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <cstring>

#include "core/error.h"

namespace trireme::data {
namespace {

std::string gzip(const std::string& text) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, static_cast<uLong>(text.size())) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string zstd(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  out.resize(ZSTD_compress2(context, out.data(), out.size(), text.data(), text.size()));
  ZSTD_freeCCtx(context);
  return out;
}

// Hands out the bytes in pieces of at most so many.
ByteSource source_of(std::string bytes, size_t piece) {
  return [bytes = std::move(bytes), piece, at = size_t{0}](std::span<char> out) mutable {
    const size_t got = std::min({piece, out.size(), bytes.size() - at});
    std::memcpy(out.data(), bytes.data() + at, got);
    at += got;
    return got;
  };
}

std::string decompressed(Compression kind, const std::string& bytes, size_t piece = 1 << 20,
                         size_t wanted = 1 << 16) {
  Decompressor stream(kind, source_of(bytes, piece), "c.zip");
  std::string text;
  std::string buffer(wanted, '\0');
  while (const size_t got = stream.read(buffer)) text.append(buffer, 0, got);
  EXPECT_EQ(stream.read(buffer), 0U) << "the end stays the end";
  return text;
}

std::string refusal(Compression kind, const std::string& bytes) {
  try {
    static_cast<void>(decompressed(kind, bytes));
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

std::string varied_text(size_t size) {
  std::string text;
  uint32_t state = 1;
  while (text.size() < size) {
    state = state * 1664525U + 1013904223U;
    text.append(state >> 28, static_cast<char>('a' + (state >> 20) % 26));
    text += static_cast<char>(state >> 8);
  }
  return text;
}

struct Codec {
  const char* name;
  Compression kind;
  std::string (*compress)(const std::string&);
};
void PrintTo(const Codec& codec, std::ostream* out) {
  *out << codec.name;
}

class DecompressorTest : public testing::TestWithParam<Codec> {};

TEST_P(DecompressorTest, GivesTheBytesBackHoweverTheyAreHandedOver) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{1000}, size_t{700000}}) {
    const std::string text = varied_text(size);
    const std::string bytes = GetParam().compress(text);
    EXPECT_TRUE(decompressed(GetParam().kind, bytes) == text) << size;
    EXPECT_TRUE(decompressed(GetParam().kind, bytes, 7, 5) == text) << size;
  }
}

TEST_P(DecompressorTest, ReadsFilesThatWereJoined) {
  const std::string bytes =
      GetParam().compress("one\n") + GetParam().compress("") + GetParam().compress("two\n");
  EXPECT_EQ(decompressed(GetParam().kind, bytes), "one\ntwo\n");
  EXPECT_EQ(decompressed(GetParam().kind, bytes, 1, 1), "one\ntwo\n");
}

TEST_P(DecompressorTest, RefusesAFileThatWasCutOffAnywhere) {
  const std::string bytes = GetParam().compress(varied_text(300));
  for (size_t size = 0; size < bytes.size(); ++size) {
    const std::string error = refusal(GetParam().kind, bytes.substr(0, size));
    EXPECT_NE(error.find("c.zip, byte "), std::string::npos) << size;
    EXPECT_TRUE(error.find("cut off") != std::string::npos ||
                error.find("empty") != std::string::npos)
        << size << ": " << error;
  }
}

TEST_P(DecompressorTest, RefusesWhatIsDamagedOrSomethingElse) {
  const std::string bytes = GetParam().compress(varied_text(300));
  int refused = 0;
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    std::string text;
    try {
      text = decompressed(GetParam().kind, damaged);
    } catch (const Error&) {
      ++refused;
      continue;
    }
    // Some bytes of a head mean nothing (times, flags); the text may never be another.
    EXPECT_TRUE(text == varied_text(300)) << at;
  }
  EXPECT_GT(refused, static_cast<int>(bytes.size()) - 12);
  EXPECT_NE(refusal(GetParam().kind, "plain text under a wrong name"), "");
  EXPECT_NE(refusal(GetParam().kind, bytes + "more"), "");
}

INSTANTIATE_TEST_SUITE_P(Codecs, DecompressorTest,
                         testing::Values(Codec{"gzip", Compression::gzip, gzip},
                                         Codec{"zstd", Compression::zstd, zstd}),
                         [](const auto& test) { return test.param.name; });

TEST(Decompressor, PassesTheZerosBehindAGzipFileAndNothingBehindThem) {
  const std::string bytes = gzip("text");
  EXPECT_EQ(decompressed(Compression::gzip, bytes + std::string(1000, '\0')), "text");
  EXPECT_NE(refusal(Compression::gzip, bytes + std::string(10, '\0') + bytes), "");
}

TEST(Decompressor, PassesSkippableFrames) {
  const std::string skippable("\x50\x2a\x4d\x18\x03\x00\x00\x00xyz", 11);
  EXPECT_EQ(decompressed(Compression::zstd, skippable + zstd("text") + skippable), "text");
}

TEST(Compression, IsToldByTheEndOfTheName) {
  EXPECT_EQ(compression_of("a/c.jsonl.gz"), Compression::gzip);
  EXPECT_EQ(compression_of("c.txt.ZST"), Compression::zstd);
  EXPECT_EQ(compression_of("gz"), Compression::none);
  EXPECT_EQ(name_inside("a/c.jsonl.gz"), Path("a/c.jsonl"));
  EXPECT_EQ(name_inside("a/c.jsonl"), Path("a/c.jsonl"));
}

}  // namespace
}  // namespace trireme::data
