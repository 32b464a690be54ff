#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace trireme::text {

/// Length of the valid UTF-8 sequence at the start of the text, 1 to 4 bytes; 0 when there is none
/// (empty text, stray or missing continuation, overlong form, surrogate, above U+10FFFF).
[[nodiscard]] size_t utf8_length(std::string_view text);

/// Position of the first byte at or after `from` that belongs to no valid UTF-8 sequence; the size
/// of the text when there is none. `from` must be at the start of a sequence.
[[nodiscard]] size_t find_invalid_utf8(std::string_view text, size_t from = 0);

/// The code point of a valid sequence.
[[nodiscard]] uint32_t utf8_code_point(std::string_view sequence);

void append_utf8(std::string& text, uint32_t code_point);

/// Unicode's property White_Space (which has not changed since Unicode 6.3).
[[nodiscard]] bool is_white_space(uint32_t code_point);

}  // namespace trireme::text
