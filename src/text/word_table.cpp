#include "text/word_table.h"

#include <algorithm>
#include <functional>

#include "core/error.h"
#include "text/word_cache.h"

namespace trireme::text {

void WordTable::add(std::string_view word, int64_t count) {
  const uint64_t hash = word_hash(word);
  const size_t mask = slots_.size() - 1;
  size_t at = hash & mask;
  for (; slots_[at] != 0; at = (at + 1) & mask) {
    const size_t index = slots_[at] - 1;
    if (entries_[index].hash == hash && this->word(index) == word) {
      entries_[index].count += count;
      return;
    }
  }
  TRIREME_ASSERT(entries_.size() < UINT32_MAX - 1, "max_words keeps the table below 2^32 words");
  entries_.push_back({hash, bytes_.size(), count, static_cast<uint32_t>(word.size())});
  bytes_ += word;
  slots_[at] = static_cast<uint32_t>(entries_.size());
  if (2 * entries_.size() > slots_.size()) rehash(2 * slots_.size());
}

void WordTable::clear() {
  std::fill(slots_.begin(), slots_.end(), 0);
  entries_.clear();
  bytes_.clear();
}

void WordTable::rehash(size_t slots) {
  slots_.assign(slots, 0);
  const size_t mask = slots - 1;
  for (size_t index = 0; index < entries_.size(); ++index) {
    size_t at = entries_[index].hash & mask;
    while (slots_[at] != 0) at = (at + 1) & mask;
    slots_[at] = static_cast<uint32_t>(index + 1);
  }
}

void WordTable::keep_most_frequent(size_t words) {
  if (entries_.size() <= words) return;
  std::vector<int64_t> counts;
  counts.reserve(entries_.size());
  for (const Entry& entry : entries_) counts.push_back(entry.count);
  // The most frequent of those that cannot all stay; whoever is as rare goes too.
  const auto first_out = counts.begin() + static_cast<ptrdiff_t>(words);
  std::nth_element(counts.begin(), first_out, counts.end(), std::greater<>());
  const int64_t rare = *first_out;

  std::string bytes;
  size_t kept = 0;
  for (const Entry& entry : entries_) {
    if (entry.count <= rare) continue;
    const size_t start = bytes.size();
    bytes.append(bytes_, entry.start, entry.length);
    entries_[kept++] = {entry.hash, start, entry.count, entry.length};
  }
  entries_.resize(kept);
  bytes_ = std::move(bytes);
  rehash(slots_.size());
}

}  // namespace trireme::text
