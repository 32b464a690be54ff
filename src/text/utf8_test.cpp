#include "text/utf8.h"

#include <algorithm>

#include "text/byte_alphabet.h"
#include "text/split.h"
#include "text/test_support.h"

namespace trireme::text {
namespace {

constexpr uint32_t kCodePoints = 0x110000;

bool is_surrogate(uint32_t code_point) {
  return code_point >= 0xD800 && code_point < 0xE000;
}

std::string utf8(uint32_t code_point) {
  std::string text;
  append_utf8(text, code_point);
  return text;
}

TEST(Utf8, EveryCodePointButSurrogatesIsValidAndComesBack) {
  for (uint32_t code_point = 0; code_point < kCodePoints; ++code_point) {
    const std::string text = utf8(code_point);
    if (is_surrogate(code_point)) {
      ASSERT_EQ(utf8_length(text), 0U) << code_point;
      continue;
    }
    ASSERT_EQ(utf8_length(text), text.size()) << code_point;
    ASSERT_EQ(utf8_code_point(text), code_point);
  }
}

TEST(Utf8, NothingElseOfUpToThreeBytesIsValid) {
  // Every sequence that begins with a byte of its own length must be one of a code point's.
  std::string text;
  size_t valid = 0;
  for (uint32_t bits = 0; bits < 1U << 24; ++bits) {
    text = {static_cast<char>(bits >> 16), static_cast<char>(bits >> 8), static_cast<char>(bits)};
    if (utf8_length(text) != 3) continue;
    ASSERT_EQ(utf8(utf8_code_point(text)), text);
    ++valid;
  }
  EXPECT_EQ(valid, 0x10000U - 0x800U - 0x800U);
}

TEST(Utf8, SequencesOfFourBytesEndAtTheLastCodePoint) {
  EXPECT_EQ(utf8_length("\xF4\x8F\xBF\xBF"), 4U);
  EXPECT_EQ(utf8_length("\xF4\x90\x80\x80"), 0U);
  EXPECT_EQ(utf8_length("\xF0\x8F\xBF\xBF"), 0U);  // overlong
  EXPECT_EQ(utf8_length("\xF5\x80\x80\x80"), 0U);
  EXPECT_EQ(utf8_length("\xF0\x9F\x9A"), 0U);
}

TEST(Utf8, TheFirstInvalidByteIsFoundWhereverItStands) {
  for (size_t size = 1; size < 40; ++size) {
    for (size_t at = 0; at < size; ++at) {
      std::string text(size, 'a');
      text[at] = '\xFF';
      ASSERT_EQ(find_invalid_utf8(text), at) << size;
      ASSERT_EQ(find_invalid_utf8(text, at + 1), size);
    }
  }
  EXPECT_EQ(find_invalid_utf8("\u00e9\u4e09\U0001f6a3"), 9U);
  EXPECT_EQ(find_invalid_utf8("\u4e09\xE4\xB8"), 3U);
}

TEST(Utf8, WhiteSpaceIsWhatTheSplitPatternCallsSo) {
  const Splitter splitter(R"(\p{White_Space})");
  Pieces pieces(splitter);
  // White space is a piece of its own between two letters.
  for (uint32_t code_point = 0; code_point < kCodePoints; ++code_point) {
    if (is_surrogate(code_point)) continue;
    const std::string text = "a" + utf8(code_point) + "a";
    pieces.start(text);
    std::string_view first;
    ASSERT_TRUE(pieces.next(first));
    ASSERT_EQ(first.size() == 1, is_white_space(code_point)) << code_point;
  }
}

TEST(ByteAlphabet, EveryByteHasALetterOfItsOwn) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all.push_back(static_cast<char>(byte));
  const std::string text = to_letters(all);
  EXPECT_EQ(find_invalid_utf8(text), text.size());
  EXPECT_EQ(from_letters(text), all);
  std::array<uint8_t, 256> sorted = bytes_by_letter();
  EXPECT_TRUE(std::is_sorted(sorted.begin(), sorted.end(), [](uint8_t a, uint8_t b) {
    return to_letters(std::string(1, static_cast<char>(a))) <
           to_letters(std::string(1, static_cast<char>(b)));
  }));
  std::sort(sorted.begin(), sorted.end());
  for (size_t byte = 0; byte < 256; ++byte) EXPECT_EQ(sorted[byte], byte);
}

TEST(ByteAlphabet, SpaceAndControlsAreMovedAndTheRestIsItself) {
  EXPECT_EQ(to_letters(" the\n"), "\u0120the\u010a");
  EXPECT_EQ(to_letters("\xAC\xAD\xAE"), "\u00ac\u0143\u00ae");
  EXPECT_EQ(from_letters("a b"), std::nullopt);
  EXPECT_EQ(from_letters("\u0144"), std::nullopt);
  EXPECT_EQ(from_letters("a\xFF"), std::nullopt);
  EXPECT_FALSE(has_letter_beyond_ascii("<|end of text|>\u0144\u4e09"));
  EXPECT_TRUE(has_letter_beyond_ascii("x\u0120"));
  EXPECT_FALSE(has_letter_beyond_ascii("\u00ad"));
}

}  // namespace
}  // namespace trireme::text
