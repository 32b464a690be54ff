#include "text/trainer.h"

#include <algorithm>
#include <array>
#include <queue>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/error.h"
#include "core/format.h"
#include "text/byte_alphabet.h"
#include "text/flat_map.h"
#include "text/split.h"
#include "text/vocabulary.h"
#include "text/word_counter.h"

namespace trireme::text {
namespace {

/// The corpus as counted words of tokens, and where each pair stands in it. Counts are kept exact
/// by what every merge changes; nothing is counted again.
class MergingCorpus {
 public:
  MergingCorpus(const WordTable& words, int64_t min_frequency) : min_frequency_(min_frequency) {
    std::array<int32_t, 256> byte_ids = {};
    for (int32_t id = 0; id < 256; ++id) byte_ids[bytes_by_letter()[static_cast<size_t>(id)]] = id;
    words_.reserve(words.size());
    for (size_t index = 0; index < words.size(); ++index) {
      const std::string_view word = words.word(index);
      if (word.size() < 2) continue;
      words_.push_back({words.count(index), tokens_.size(), static_cast<uint32_t>(word.size())});
      for (const char byte : word) tokens_.push_back(byte_ids[static_cast<uint8_t>(byte)]);
    }
    for (uint32_t word = 0; word < words_.size(); ++word) {
      const std::span<const int32_t> tokens = tokens_of(words_[word]);
      for (size_t at = 0; at + 1 < tokens.size(); ++at)
        change(tokens[at], tokens[at + 1], words_[word].count, word);
    }
    queue_changed();
  }

  /// The most frequent pair (trainer.h tells the order), or nothing when none is frequent enough.
  /// It leaves the queue: merge it, or it is gone until its count grows.
  std::optional<Merge> take_best() {
    while (!queue_.empty()) {
      const Candidate best = queue_.top();
      queue_.pop();
      const int64_t count = pair_of(best.pair).count;
      if (count == best.count) return best.pair;
      if (count >= min_frequency_) queue_.push({count, best.pair});
    }
    return std::nullopt;
  }

  void merge(Merge pair, int32_t result) {
    const std::vector<uint32_t> words = std::exchange(pair_of(pair).words, {});
    for (const uint32_t word : words) merge_word(word, pair, result);
    pair_of(pair).count = 0;
    queue_changed();
  }

 private:
  struct Word {
    int64_t count;
    uint64_t start;   // in tokens_
    uint32_t length;  // shrinks with every merge
  };
  struct Pair {
    int64_t count = 0;
    bool changed = false;         // grew in this round
    std::vector<uint32_t> words;  // every word that holds the pair; some no longer do
  };
  struct Candidate {
    int64_t count;
    Merge pair;
    bool operator<(const Candidate& other) const {
      if (count != other.count) return count < other.count;
      return pair_key(pair.left, pair.right) > pair_key(other.pair.left, other.pair.right);
    }
  };

  [[nodiscard]] std::span<int32_t> tokens_of(const Word& word) {
    return std::span(tokens_).subspan(word.start, word.length);
  }

  Pair& pair_of(Merge pair) { return pairs_[pair_key(pair.left, pair.right)]; }

  void change(int32_t left, int32_t right, int64_t by, uint32_t word) {
    Pair& pair = pair_of({left, right});
    pair.count += by;
    if (by < 0) return;
    if (pair.words.empty() || pair.words.back() != word) pair.words.push_back(word);
    if (!std::exchange(pair.changed, true)) changed_.push_back({left, right});
  }

  void merge_word(uint32_t index, Merge pair, int32_t result) {
    Word& word = words_[index];
    const std::span<int32_t> tokens = tokens_of(word);
    uint32_t to = 0;
    for (uint32_t from = 0; from < word.length;) {
      if (from + 1 == word.length || tokens[from] != pair.left || tokens[from + 1] != pair.right) {
        tokens[to++] = tokens[from++];
        continue;
      }
      if (to > 0) {
        change(tokens[to - 1], pair.left, -word.count, index);
        change(tokens[to - 1], result, word.count, index);
      }
      if (from + 2 < word.length) {
        change(pair.right, tokens[from + 2], -word.count, index);
        change(result, tokens[from + 2], word.count, index);
      }
      tokens[to++] = result;
      from += 2;
    }
    word.length = to;
  }

  void queue_changed() {
    for (const Merge pair : std::exchange(changed_, {})) {
      Pair& changed = pair_of(pair);
      changed.changed = false;
      if (changed.count >= min_frequency_) queue_.push({changed.count, pair});
    }
  }

  int64_t min_frequency_;
  std::vector<Word> words_;
  std::vector<int32_t> tokens_;  // of all words, each with the room of its bytes
  FlatMap<Pair> pairs_;
  std::vector<Merge> changed_;
  // Every pair that is frequent enough has an entry of its count or more; entries of another count
  // are old and are corrected when they come up.
  std::priority_queue<Candidate> queue_;
};

/// Chooses merges until the vocabulary is full.
std::vector<Merge> choose_merges(MergingCorpus& corpus, const TrainOptions& options,
                                 const std::function<void(const TrainProgress&)>& progress) {
  const std::unordered_set<std::string_view> special(options.special_tokens.begin(),
                                                     options.special_tokens.end());
  const auto wanted = static_cast<size_t>(options.vocab_size) - special.size();
  std::unordered_map<std::string, int32_t> ids;
  std::vector<std::string> tokens;
  for (const uint8_t byte : bytes_by_letter()) {
    tokens.emplace_back(1, static_cast<char>(byte));
    ids.emplace(tokens.back(), static_cast<int32_t>(ids.size()));
  }
  std::vector<Merge> merges;
  while (tokens.size() < wanted) {
    const std::optional<Merge> best = corpus.take_best();
    if (!best) break;
    std::string bytes =
        tokens[static_cast<size_t>(best->left)] + tokens[static_cast<size_t>(best->right)];
    if (special.contains(bytes)) continue;
    // Two pairs may spell the same token: both are merges, with one id.
    const auto [entry, is_new] = ids.try_emplace(bytes, static_cast<int32_t>(tokens.size()));
    if (is_new) tokens.push_back(std::move(bytes));
    merges.push_back(*best);
    corpus.merge(*best, entry->second);
    if (progress) progress({TrainProgress::Phase::merging, tokens.size() - 256, wanted - 256});
  }
  return merges;
}

void check(const TrainOptions& options) {
  check_special_tokens(options.special_tokens);
  const auto least = static_cast<int64_t>(256 + options.special_tokens.size());
  if (options.vocab_size < least) {
    fail_usage({.where = "vocab size",
                .what = format("{} is too small", options.vocab_size),
                .rule = format("256 bytes and {} special tokens need {}",
                               options.special_tokens.size(), least)});
  }
  if (options.min_frequency < 1) {
    fail_usage({.where = "min frequency",
                .what = format("{} is too small", options.min_frequency),
                .rule = "a pair must occur at least once to be merged"});
  }
  constexpr int64_t kMaxWords = int64_t{1} << 30;
  if (options.max_words < 2 || options.max_words > kMaxWords) {
    fail_usage({.where = "max words",
                .what = format("{} is out of range", options.max_words),
                .rule = format("from 2 to {}", kMaxWords)});
  }
}

}  // namespace

Tokenizer train(const TrainOptions& options, const TextSource& source, ThreadPool& pool,
                const std::function<void(const TrainProgress&)>& progress) {
  check(options);
  const Splitter splitter(options.split_pattern);
  WordCounter counter(splitter, cuts_at_lines(options.split_pattern), pool,
                      static_cast<size_t>(options.max_words));
  uint64_t bytes = 0;
  for (std::string text; source(text); text.clear()) {
    bytes += text.size();
    counter.add(std::move(text));
    if (progress) progress({TrainProgress::Phase::counting, bytes, 0});
  }
  if (bytes == 0) {
    fail({.where = "tokenizer training",
          .what = "the corpus is empty",
          .remedy = "name files that contain text"});
  }
  MergingCorpus corpus(counter.finish(), options.min_frequency);
  const std::vector<Merge> merges = choose_merges(corpus, options, progress);
  Vocabulary vocabulary = make_vocabulary(merges, options.special_tokens);
  vocabulary.split_pattern = options.split_pattern;
  return Tokenizer(std::move(vocabulary));
}

}  // namespace trireme::text
