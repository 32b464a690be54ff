#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/thread_pool.h"
#include "text/tokenizer.h"

namespace trireme::text {

struct TrainOptions {
  /// Bytes, merges and special tokens together; at least 256 + special tokens. The result has fewer
  /// when the text has no more pairs that are frequent enough.
  int32_t vocab_size = 32768;
  /// A pair is merged only while it occurs at least this often. >= 1.
  int64_t min_frequency = 2;
  /// What makes words of the text (pattern.h).
  std::string split_pattern = std::string(kGpt2Pattern);
  /// Get the last ids, in this order. Their text inside the corpus is text.
  std::vector<std::string> special_tokens = {std::string(kEndOfText)};
  /// Bounds the memory (about 200 bytes a word, so some 0.8 GiB): when more different words than
  /// this are held, the rarest are forgotten until at most half of it are left.
  int64_t max_words = int64_t{1} << 22;
};

/// Where the training stands, for a progress bar.
struct TrainProgress {
  enum class Phase { counting, merging } phase;
  uint64_t done;   ///< bytes of text counted; merges made
  uint64_t total;  ///< 0 while counting; merges wanted
};

/// Hands out the corpus: writes the next text (a document, or a part of one that was cut at
/// find_cut where the pattern cuts_at_lines) into the string and returns true, or returns false at
/// the end.
using TextSource = std::function<bool(std::string& text)>;

/// Trains a vocabulary by byte pair encoding.
///
/// The pieces of the split pattern are the words (pieces longer than 256 bytes count as several of
/// at most 256). Each round merges, everywhere, the pair of neighbouring tokens that occurs most
/// often (every position counts, also overlapping ones: "aaa" has two); among equals the one with
/// the smallest left id, then the smallest right id. A pair that would spell a special token is
/// never merged. The result depends on the texts, their order only when max_words is exceeded, and
/// never on the threads.
///
/// Throws for options that cannot be honoured and for a source without text.
[[nodiscard]] Tokenizer train(const TrainOptions& options, const TextSource& source,
                              ThreadPool& pool,
                              const std::function<void(const TrainProgress&)>& progress = {});

}  // namespace trireme::text
