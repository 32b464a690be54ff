#include "text/merge_table.h"

#include <algorithm>
#include <numeric>

#include "text/test_support.h"

namespace trireme::text {
namespace {

/// The rule of tokenizer.h, word for word.
std::vector<int32_t> joined_plainly(const MergeTable& table, std::vector<int32_t> tokens) {
  for (;;) {
    uint32_t best = MergeTable::kNoMerge;
    for (size_t at = 0; at + 1 < tokens.size(); ++at)
      best = std::min(best, table.rank(tokens[at], tokens[at + 1]));
    if (best == MergeTable::kNoMerge) return tokens;
    size_t at = 0;
    while (table.rank(tokens[at], tokens[at + 1]) != best) ++at;
    tokens[at] = table.result(best);
    tokens.erase(tokens.begin() + static_cast<ptrdiff_t>(at) + 1);
  }
}

/// Merges over the bytes "a" to "d", many of which spell the same tokens, in any order of rank:
/// also such that a merge makes a pair whose rank comes before its own.
Vocabulary wild_vocabulary(Random& random) {
  std::vector<Merge> merges;
  std::vector<int32_t> ids;
  const Vocabulary bytes = make_vocabulary({}, {});
  for (const char* byte : {"a", "b", "c", "d"}) {
    ids.push_back(find_token(bytes, byte));
  }
  for (size_t round = 0; round < 60; ++round) {
    const Merge merge{ids[below(random, ids.size())], ids[below(random, ids.size())]};
    if (std::find(merges.begin(), merges.end(), merge) != merges.end()) continue;
    merges.push_back(merge);
    ids.push_back(make_vocabulary(merges, {}).results.back());
  }
  Vocabulary vocabulary = make_vocabulary(merges, {});
  for (size_t at = merges.size(); at > 1; --at) {
    const size_t other = below(random, at);
    std::swap(vocabulary.merges[at - 1], vocabulary.merges[other]);
    std::swap(vocabulary.results[at - 1], vocabulary.results[other]);
  }
  return vocabulary;
}

TEST(Joiner, JoinsByTheRuleHoweverLongThePieceAndHoweverOddTheMerges) {
  Random random(3);
  for (size_t table_number = 0; table_number < 40; ++table_number) {
    const Vocabulary vocabulary = wild_vocabulary(random);
    const MergeTable table(vocabulary);
    Joiner joiner(table);
    for (size_t round = 0; round < 60; ++round) {
      std::vector<int32_t> tokens(1 + below(random, round % 10 == 0 ? 400 : 30));
      const size_t letters = 1 + below(random, 4);
      for (int32_t& token : tokens)
        token = static_cast<int32_t>('a' - '!' + below(random, letters));
      const std::vector<int32_t> expected = joined_plainly(table, tokens);
      for (const auto join : {&Joiner::join, &Joiner::join_short, &Joiner::join_long}) {
        std::vector<int32_t> joined = tokens;
        joined.resize((joiner.*join)(joined));
        ASSERT_EQ(joined, expected) << "of " << tokens.size();
      }
    }
  }
}

TEST(FlatMap, HoldsWhatWasPutIn) {
  FlatMap<int> map;
  Random random(4);
  std::vector<uint64_t> keys;
  for (int round = 0; round < 20000; ++round) {
    // Keys as pairs are: small numbers in both halves.
    keys.push_back(pair_key(static_cast<int32_t>(below(random, 300)),
                            static_cast<int32_t>(below(random, 300))));
    map[keys.back()] = round;
    ASSERT_EQ(*map.find(keys.back()), round);
  }
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  EXPECT_EQ(map.size(), keys.size());
  EXPECT_EQ(map.find(pair_key(301, 0)), nullptr);
}

}  // namespace
}  // namespace trireme::text
