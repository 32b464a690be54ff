#include "text/merge_table.h"

#include <algorithm>
#include <functional>

#include "core/error.h"
#include "core/format.h"

namespace trireme::text {
namespace {

constexpr uint32_t kNone = UINT32_MAX;

// Scratch space for pieces longer than this is given back after the piece.
template <class T>
void release(std::vector<T>& scratch) {
  constexpr size_t kKeptPlaces = size_t{1} << 16;
  if (scratch.capacity() > kKeptPlaces) scratch = {};
}

}  // namespace

MergeTable::MergeTable(const Vocabulary& vocabulary)
    : ranks_(vocabulary.merges.size()), results_(vocabulary.results) {
  uint32_t rank = 0;
  for (const Merge& merge : vocabulary.merges)
    ranks_[pair_key(merge.left, merge.right)].value = rank++;
}

size_t Joiner::join(std::span<int32_t> tokens) {
  if (tokens.size() < 2) return tokens.size();
  return tokens.size() <= kShort ? join_short(tokens) : join_long(tokens);
}

size_t Joiner::join_short(std::span<int32_t> tokens) {
  size_t count = tokens.size();
  pair_ranks_.resize(std::max(pair_ranks_.size(), count));
  uint32_t* ranks = pair_ranks_.data();
  for (size_t at = 0; at + 1 < count; ++at) ranks[at] = table_.rank(tokens[at], tokens[at + 1]);
  while (count > 1) {
    uint32_t best = kNone;
    for (size_t at = 0; at + 1 < count; ++at) best = std::min(best, ranks[at]);
    if (best == kNone) break;
    const int32_t result = table_.result(best);
    for (size_t at = 0; at + 1 < count; ++at) {
      if (ranks[at] != best) continue;
      tokens[at] = result;
      std::copy(tokens.begin() + static_cast<ptrdiff_t>(at) + 2,
                tokens.begin() + static_cast<ptrdiff_t>(count),
                tokens.begin() + static_cast<ptrdiff_t>(at) + 1);
      std::copy(ranks + at + 1, ranks + count - 1, ranks + at);
      --count;
      // A pair with the result is never this merge again: its bytes are longer. It may come before
      // it, where two pairs make one token.
      if (at > 0) ranks[at - 1] = table_.rank(tokens[at - 1], result);
      if (at + 1 < count) ranks[at] = table_.rank(result, tokens[at + 1]);
      if ((at > 0 && ranks[at - 1] < best) || (at + 1 < count && ranks[at] < best)) break;
    }
  }
  return count;
}

void Joiner::note_pair(uint32_t at, std::span<const int32_t> tokens) {
  const uint32_t right = next_[at];
  const uint32_t rank = right == kNone ? kNone : table_.rank(tokens[at], tokens[right]);
  pair_ranks_[at] = rank;
  if (rank == kNone) return;
  pending_.push_back(uint64_t{rank} << 32 | at);
}

size_t Joiner::join_long(std::span<int32_t> tokens) {
  if (tokens.size() >= kNone) {
    fail({.where = "encode",
          .what = format("one piece of the text has {} bytes", tokens.size()),
          .rule = "pieces must be below 4 GiB",
          .remedy = "break the text by line feeds or spaces"});
  }
  const auto size = static_cast<uint32_t>(tokens.size());
  pair_ranks_.resize(std::max<size_t>(pair_ranks_.size(), size));
  next_.resize(size);
  previous_.resize(size);
  for (uint32_t at = 0; at < size; ++at) {
    next_[at] = at + 1 < size ? at + 1 : kNone;
    previous_[at] = at > 0 ? at - 1 : kNone;
  }
  pending_.clear();
  for (uint32_t at = 0; at < size; ++at) note_pair(at, tokens);
  std::make_heap(pending_.begin(), pending_.end(), std::greater<>());
  const auto note_later = [&](uint32_t at) {
    const size_t before = pending_.size();
    note_pair(at, tokens);
    if (pending_.size() > before)
      std::push_heap(pending_.begin(), pending_.end(), std::greater<>());
  };

  while (!pending_.empty()) {
    std::pop_heap(pending_.begin(), pending_.end(), std::greater<>());
    const auto rank = static_cast<uint32_t>(pending_.back() >> 32);
    const auto at = static_cast<uint32_t>(pending_.back());
    pending_.pop_back();
    if (pair_ranks_[at] != rank) continue;  // joined since, or its neighbour was
    const uint32_t gone = next_[at];
    const uint32_t right = next_[gone];
    tokens[at] = table_.result(rank);
    pair_ranks_[gone] = kNone;
    next_[at] = right;
    if (right != kNone) previous_[right] = at;
    note_later(at);
    if (previous_[at] != kNone) note_later(previous_[at]);
  }

  size_t count = 0;
  for (uint32_t at = 0; at != kNone; at = next_[at]) tokens[count++] = tokens[at];
  for (std::vector<uint32_t>* scratch : {&pair_ranks_, &next_, &previous_}) release(*scratch);
  release(pending_);
  return count;
}

}  // namespace trireme::text
