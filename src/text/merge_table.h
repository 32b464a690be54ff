#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "text/flat_map.h"
#include "text/vocabulary.h"

namespace trireme::text {

/// What BPE asks about a vocabulary: the rank of a pair and the token that a merge makes.
class MergeTable {
 public:
  static constexpr uint32_t kNoMerge = UINT32_MAX;

  explicit MergeTable(const Vocabulary& vocabulary);

  [[nodiscard]] uint32_t merges() const { return static_cast<uint32_t>(results_.size()); }
  /// Rank of the merge of this pair; kNoMerge when there is none.
  [[nodiscard]] uint32_t rank(int32_t left, int32_t right) const {
    const Rank* found = ranks_.find(pair_key(left, right));
    return found == nullptr ? kNoMerge : found->value;
  }
  [[nodiscard]] int32_t result(uint32_t rank) const { return results_[rank]; }

 private:
  struct Rank {
    uint32_t value = kNoMerge;
  };
  FlatMap<Rank> ranks_;
  std::vector<int32_t> results_;
};

/// Joins the tokens of one piece by the rule in tokenizer.h. One object serves one thread and keeps
/// scratch space. The table must outlive it.
///
/// Short pieces: the ranks of all pairs in an array, searched for the least; O(n^2), but without a
/// branch that could be guessed wrong. Longer ones: a linked list of tokens, and a heap of the
/// pairs by rank and place; O(n log n).
class Joiner {
 public:
  /// Longest piece that the quadratic way takes, where both are about as fast.
  static constexpr size_t kShort = 128;

  explicit Joiner(const MergeTable& table) : table_(table) {}

  /// Joins in place and returns how many tokens are left, at the front.
  size_t join(std::span<int32_t> tokens);

  size_t join_short(std::span<int32_t> tokens);
  size_t join_long(std::span<int32_t> tokens);

 private:
  void note_pair(uint32_t at, std::span<const int32_t> tokens);

  const MergeTable& table_;
  std::vector<uint32_t> pair_ranks_;  // of the pair that begins at each place
  std::vector<uint32_t> next_;        // places of the neighbours of each token that is left
  std::vector<uint32_t> previous_;
  std::vector<uint64_t> pending_;  // heap of rank and place, least on top; some are no longer true
};

}  // namespace trireme::text
