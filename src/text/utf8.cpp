#include "text/utf8.h"

#include <cstring>

namespace trireme::text {
namespace {

constexpr uint64_t kHighBits = 0x8080808080808080U;

uint8_t byte_at(std::string_view text, size_t at) {
  return static_cast<uint8_t>(text[at]);
}

bool is_continuation(uint8_t byte) {
  return (byte & 0xC0U) == 0x80U;
}

}  // namespace

size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const uint8_t first = byte_at(text, 0);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  const size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (text.size() < length) return 0;
  const uint8_t second = byte_at(text, 1);
  // The range of the second byte shuts out overlong forms, surrogates and numbers above U+10FFFF.
  const uint8_t low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const uint8_t high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (second < low || second > high) return 0;
  for (size_t at = 2; at < length; ++at) {
    if (!is_continuation(byte_at(text, at))) return 0;
  }
  return length;
}

size_t find_invalid_utf8(std::string_view text, size_t from) {
  size_t at = from;
  while (at < text.size()) {
    uint64_t eight = 0;
    while (at + sizeof eight <= text.size()) {
      std::memcpy(&eight, text.data() + at, sizeof eight);
      if ((eight & kHighBits) != 0) break;
      at += sizeof eight;
    }
    if (at == text.size()) break;
    const size_t length = utf8_length(text.substr(at));
    if (length == 0) return at;
    at += length;
  }
  return text.size();
}

uint32_t utf8_code_point(std::string_view sequence) {
  const uint32_t first = byte_at(sequence, 0);
  if (sequence.size() == 1) return first;
  uint32_t code_point = first & (0x7FU >> sequence.size());
  for (size_t at = 1; at < sequence.size(); ++at) {
    code_point = code_point << 6 | (byte_at(sequence, at) & 0x3FU);
  }
  return code_point;
}

void append_utf8(std::string& text, uint32_t code_point) {
  const auto put = [&](uint32_t byte) { text.push_back(static_cast<char>(byte)); };
  const auto put_continuation = [&](uint32_t bits) { put(0x80U | (bits & 0x3FU)); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xC0U | code_point >> 6);
    put_continuation(code_point);
  } else if (code_point < 0x10000) {
    put(0xE0U | code_point >> 12);
    put_continuation(code_point >> 6);
    put_continuation(code_point);
  } else {
    put(0xF0U | code_point >> 18);
    put_continuation(code_point >> 12);
    put_continuation(code_point >> 6);
    put_continuation(code_point);
  }
}

bool is_white_space(uint32_t code_point) {
  switch (code_point) {
    case 0x20:
    case 0x85:
    case 0xA0:
    case 0x1680:
    case 0x2028:
    case 0x2029:
    case 0x202F:
    case 0x205F:
    case 0x3000:
      return true;
    default:
      return (code_point >= 0x09 && code_point <= 0x0D) ||
             (code_point >= 0x2000 && code_point <= 0x200A);
  }
}

}  // namespace trireme::text
