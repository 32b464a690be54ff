#include "text/merge_table.h"

#include <algorithm>
#include <functional>

#include "core/error.h"
#include "core/format.h"

namespace trireme::text {
namespace {

constexpr uint32_t kNone = UINT32_MAX;
// Scratch space for pieces longer than this is given back after the piece.
constexpr size_t kKeptPlaces = size_t{1} << 16;
constexpr size_t kKeptOfRank = 64;

void release(std::vector<uint32_t>& scratch) {
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
      // A pair with the result is never this merge again: its bytes are longer.
      if (at > 0) ranks[at - 1] = table_.rank(tokens[at - 1], result);
      if (at + 1 < count) ranks[at] = table_.rank(result, tokens[at + 1]);
    }
  }
  return count;
}

void Joiner::note_pair(uint32_t at, std::span<const int32_t> tokens) {
  const uint32_t right = next_[at];
  const uint32_t rank = right == kNone ? kNone : table_.rank(tokens[at], tokens[right]);
  pair_ranks_[at] = rank;
  if (rank == kNone) return;
  if (places_[rank].empty()) {
    pending_.push_back(rank);
    std::push_heap(pending_.begin(), pending_.end(), std::greater<>());
  }
  places_[rank].push_back(at);
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
  places_.resize(table_.merges());
  for (uint32_t at = 0; at < size; ++at) {
    next_[at] = at + 1 < size ? at + 1 : kNone;
    previous_[at] = at > 0 ? at - 1 : kNone;
  }
  for (uint32_t at = 0; at < size; ++at) note_pair(at, tokens);

  while (!pending_.empty()) {
    const uint32_t rank = pending_.front();
    std::pop_heap(pending_.begin(), pending_.end(), std::greater<>());
    pending_.pop_back();
    const int32_t result = table_.result(rank);
    now_.clear();
    now_.swap(places_[rank]);
    std::sort(now_.begin(), now_.end());
    for (const uint32_t at : now_) {
      if (pair_ranks_[at] != rank) continue;  // joined since, or its neighbour was
      const uint32_t gone = next_[at];
      const uint32_t right = next_[gone];
      tokens[at] = result;
      pair_ranks_[gone] = kNone;
      next_[at] = right;
      if (right != kNone) previous_[right] = at;
      note_pair(at, tokens);
      if (previous_[at] != kNone) note_pair(previous_[at], tokens);
    }
    if (now_.capacity() > kKeptOfRank) now_ = {};
  }

  size_t count = 0;
  for (uint32_t at = 0; at != kNone; at = next_[at]) tokens[count++] = tokens[at];
  for (std::vector<uint32_t>* scratch : {&pair_ranks_, &next_, &previous_}) release(*scratch);
  return count;
}

}  // namespace trireme::text
