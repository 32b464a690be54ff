#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace trireme::text {

/// The letters by which GPT-2's files write bytes. A byte that prints in Latin-1 (0x21-0x7E,
/// 0xA1-0xAC, 0xAE-0xFF) is the character of its own number; the other 68 are U+0100 to U+0143 in
/// order of value: 0x00 is U+0100, the space U+0120.

/// The bytes as GPT-2 numbers them: by letter, so those that print stand first.
[[nodiscard]] const std::array<uint8_t, 256>& bytes_by_letter();

/// The letter of each byte, joined, as UTF-8.
[[nodiscard]] std::string to_letters(std::string_view bytes);

/// Back to bytes; nothing when the text has a character that is not a letter of this alphabet.
[[nodiscard]] std::optional<std::string> from_letters(std::string_view text);

/// Whether the text (valid UTF-8) has a letter that is not its own byte in UTF-8: one from U+00A1
/// on.
[[nodiscard]] bool has_letter_beyond_ascii(std::string_view text);

}  // namespace trireme::text
