#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/file.h"

namespace trireme::data {

/// Megatron-LM's indexed dataset, two files of little-endian, packed numbers.
///
/// PREFIX.bin  the tokens of all sequences back to back, no header
/// PREFIX.idx  offset            type          field
///             0                 9 bytes       kIndexMagic
///             9                 u64           kIndexVersion
///             17                u8            TokenType of .bin
///             18                u64           sequences
///             26                u64           entries of the document array = documents + 1
///             34                i32[seq]      tokens per sequence
///             34 + 4 seq        i64[seq]      byte offset of each sequence in .bin (prefix sums)
///             34 + 12 seq       i64[doc + 1]  first sequence of each document; 0 first, seq last
inline constexpr std::string_view kIndexMagic{"MMIDIDX\0\0", 9};
inline constexpr uint64_t kIndexVersion = 1;
inline constexpr uint64_t kIndexHeaderBytes = 34;

/// How .bin stores a token. The values are the file's; the two floating types of the format (6, 7)
/// hold no token ids and are refused.
enum class TokenType : uint8_t { u8 = 1, i8 = 2, i16 = 3, i32 = 4, i64 = 5, u16 = 8 };

[[nodiscard]] constexpr int64_t bytes_of(TokenType type) {
  switch (type) {
    case TokenType::u8:
    case TokenType::i8:
      return 1;
    case TokenType::i16:
    case TokenType::u16:
      return 2;
    case TokenType::i32:
      return 4;
    case TokenType::i64:
      return 8;
  }
  return 0;
}

[[nodiscard]] constexpr std::string_view name_of(TokenType type) {
  switch (type) {
    case TokenType::u8:
      return "u8";
    case TokenType::i8:
      return "i8";
    case TokenType::i16:
      return "i16";
    case TokenType::i32:
      return "i32";
    case TokenType::i64:
      return "i64";
    case TokenType::u16:
      return "u16";
  }
  return "?";
}

/// The type of a code in .idx; nothing for codes that are unknown or not integers.
[[nodiscard]] constexpr std::optional<TokenType> token_type_of(uint8_t code) {
  return code >= 1 && code <= 8 && code != 6 && code != 7
             ? std::optional(static_cast<TokenType>(code))
             : std::nullopt;
}

/// The type that Megatron-LM's writer picks: u16 below 65500 ids (padding of the vocabulary keeps
/// its distance from 65536), else i32.
[[nodiscard]] constexpr TokenType token_type_for(int64_t vocab_size) {
  return vocab_size < 65500 ? TokenType::u16 : TokenType::i32;
}

/// PREFIX + ".idx", PREFIX + ".bin".
[[nodiscard]] inline Path index_path(const Path& prefix) {
  Path path = prefix;
  return path += ".idx";
}
[[nodiscard]] inline Path tokens_path(const Path& prefix) {
  Path path = prefix;
  return path += ".bin";
}

}  // namespace trireme::data
