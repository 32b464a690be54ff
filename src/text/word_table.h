#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace trireme::text {

/// How often each word occurs. Open addressing over one array of entries; the bytes of all words
/// lie behind one another in a string.
class WordTable {
 public:
  WordTable() : slots_(kFirstSlots, 0) {}

  void add(std::string_view word, int64_t count);

  [[nodiscard]] size_t size() const { return entries_.size(); }
  [[nodiscard]] std::string_view word(size_t index) const {
    return std::string_view(bytes_).substr(entries_[index].start, entries_[index].length);
  }
  [[nodiscard]] int64_t count(size_t index) const { return entries_[index].count; }

  /// Forgets all words but keeps the memory.
  void clear();

  /// Forgets the rarest words, all of one count at once, until at most this many are left.
  void keep_most_frequent(size_t words);

 private:
  static constexpr size_t kFirstSlots = 1024;
  struct Entry {
    uint64_t hash;
    uint64_t start;
    int64_t count;
    uint32_t length;
  };
  void rehash(size_t slots);

  std::vector<uint32_t> slots_;  // index of the entry plus 1; 0: empty
  std::vector<Entry> entries_;
  std::string bytes_;
};

}  // namespace trireme::text
