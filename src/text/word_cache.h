#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace trireme::text {

/// Mixes the bytes of a word into 64 bits of which the upper ones are the best.
[[nodiscard]] inline uint64_t word_hash(std::string_view word) {
  constexpr uint64_t kMultiplier = 0x9E3779B97F4A7C15U;
  const auto load = [](const char* from, size_t bytes) {
    uint64_t value = 0;
    std::memcpy(&value, from, bytes);
    return value;
  };
  const auto mix = [](uint64_t value) {
    value *= kMultiplier;
    return value ^ value >> 32;
  };
  const size_t size = word.size();
  const char* data = word.data();
  uint64_t hash = size;
  size_t at = 0;
  for (; at + 8 <= size; at += 8) hash = mix(hash ^ load(data + at, 8));
  // The rest by two loads that may overlap: a copy of variable length would be a call.
  const size_t rest = size - at;
  uint64_t tail = 0;
  if (rest >= 4) {
    tail = load(data + at, 4) | load(data + size - 4, 4) << 32;
  } else if (rest > 0) {
    tail = load(data + at, 1) | load(data + at + rest / 2, 1) << 8 | load(data + size - 1, 1) << 16;
  }
  return mix(hash ^ tail) * kMultiplier;
}

/// The tokens of short words seen lately: a word may stand in one slot only, and a newer one takes
/// it. So memory is fixed, nothing is allocated after construction, and what is found is always
/// true: the word itself is compared.
class WordCache {
 public:
  static constexpr size_t kMaxBytes = 30;
  static constexpr size_t kMaxTokens = 8;

  /// 2^slots_log2 slots of one cache line; 0: no cache.
  explicit WordCache(int slots_log2)
      : shift_(64 - slots_log2), slots_(slots_log2 == 0 ? 0 : size_t{1} << slots_log2) {}

  struct Slot {
    uint8_t bytes = 0;  // 0: empty
    uint8_t count = 0;
    std::array<char, kMaxBytes> word = {};
    std::array<int32_t, kMaxTokens> tokens = {};

    [[nodiscard]] bool holds(std::string_view candidate) const {
      return bytes == candidate.size() &&
             std::memcmp(word.data(), candidate.data(), candidate.size()) == 0;
    }
    void put(std::string_view new_word, std::span<const int32_t> new_tokens) {
      if (new_tokens.size() > kMaxTokens) return;
      bytes = static_cast<uint8_t>(new_word.size());
      count = static_cast<uint8_t>(new_tokens.size());
      std::copy(new_word.begin(), new_word.end(), word.begin());
      std::copy(new_tokens.begin(), new_tokens.end(), tokens.begin());
    }
  };
  static_assert(sizeof(Slot) == 64);

  /// The slot where this word is or would be; null for words that cannot be held.
  [[nodiscard]] Slot* slot(std::string_view word) {
    if (word.size() > kMaxBytes || slots_.empty()) return nullptr;
    return &slots_[word_hash(word) >> shift_];
  }

 private:
  int shift_;
  std::vector<Slot> slots_;
};

}  // namespace trireme::text
