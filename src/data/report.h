#pragma once
#include <cstdint>

#include "core/thread_pool.h"
#include "data/batches.h"
#include "data/indexed_dataset.h"

namespace trireme::data {

/// What the start of a run says about its data.
struct DatasetReport {
  int64_t documents = 0;
  int64_t sequences = 0;
  int64_t tokens = 0;
  TokenType token_type = TokenType::u16;
  int64_t scanned_tokens = 0;  ///< what the fields below were counted on
  int64_t eod_tokens = 0;
  int32_t largest_token = -1;

  /// Share of end-of-document tokens, in [0, 1]; exact when all tokens were scanned.
  [[nodiscard]] double eod_share() const {
    return scanned_tokens > 0
               ? static_cast<double>(eod_tokens) / static_cast<double>(scanned_tokens)
               : 0.0;
  }
  [[nodiscard]] bool is_exact() const { return scanned_tokens == tokens; }
};

/// eod            end-of-document id; -1: none is counted
/// most_tokens    larger datasets are scanned in blocks spread evenly over them, so that a start
///                reads at most about this much of a corpus of terabytes
[[nodiscard]] DatasetReport report_dataset(const IndexedDataset& dataset, int32_t eod,
                                           ThreadPool& pool,
                                           int64_t most_tokens = int64_t{1} << 26);

/// Entropy of the single tokens of samples [first, first + count), as labels that count, in nats:
/// what a model that knows their frequencies and nothing else would lose. The bar for training.
[[nodiscard]] double unigram_entropy(const Batches& batches, int64_t first, int64_t count);

}  // namespace trireme::data
