#include "text/byte_alphabet.h"

#include "text/utf8.h"

namespace trireme::text {
namespace {

constexpr uint32_t kFirstMovedLetter = 0x100;
constexpr uint32_t kLetters = 0x144;  // letters lie below this code point

constexpr bool prints(uint32_t byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
}

struct Alphabet {
  std::array<uint8_t, 256> by_letter = {};
  std::array<uint32_t, 256> letter_of = {};
  std::array<int16_t, kLetters> byte_of = {};  // -1: no letter
};

constexpr Alphabet make_alphabet() {
  Alphabet alphabet;
  for (int16_t& byte : alphabet.byte_of) byte = -1;
  size_t place = 0;
  uint32_t moved = kFirstMovedLetter;
  for (const bool printing : {true, false}) {
    for (uint32_t byte = 0; byte < 256; ++byte) {
      if (prints(byte) != printing) continue;
      const uint32_t letter = printing ? byte : moved++;
      alphabet.by_letter[place++] = static_cast<uint8_t>(byte);
      alphabet.letter_of[byte] = letter;
      alphabet.byte_of[letter] = static_cast<int16_t>(byte);
    }
  }
  return alphabet;
}

constexpr Alphabet kAlphabet = make_alphabet();
static_assert(kAlphabet.letter_of[' '] == 0x120 && kAlphabet.byte_of[kLetters - 1] == 0xAD);

std::optional<uint8_t> byte_of(uint32_t code_point) {
  if (code_point >= kLetters || kAlphabet.byte_of[code_point] < 0) return std::nullopt;
  return static_cast<uint8_t>(kAlphabet.byte_of[code_point]);
}

}  // namespace

const std::array<uint8_t, 256>& bytes_by_letter() {
  return kAlphabet.by_letter;
}

std::string to_letters(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) append_utf8(text, kAlphabet.letter_of[static_cast<uint8_t>(byte)]);
  return text;
}

std::optional<std::string> from_letters(std::string_view text) {
  std::string bytes;
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    if (length == 0) return std::nullopt;
    const std::optional<uint8_t> byte = byte_of(utf8_code_point(text.substr(0, length)));
    if (!byte) return std::nullopt;
    bytes.push_back(static_cast<char>(*byte));
    text.remove_prefix(length);
  }
  return bytes;
}

bool has_letter_beyond_ascii(std::string_view text) {
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    if (length == 0) return false;
    const uint32_t code_point = utf8_code_point(text.substr(0, length));
    if (code_point >= 0x80 && byte_of(code_point)) return true;
    text.remove_prefix(length);
  }
  return false;
}

}  // namespace trireme::text
