#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/thread_pool.h"
#include "data/batches.h"
#include "data/open_sources.h"
#include "text/tokenizer.h"

namespace trireme::data {

/// How often an id stands in the tokens of a range of sequences.
struct TokenCount {
  int64_t tokens = 0;   ///< of the range
  int64_t scanned = 0;  ///< of these, looked at
  int64_t found = 0;

  [[nodiscard]] double share() const {
    return scanned > 0 ? static_cast<double>(found) / static_cast<double>(scanned) : 0.0;
  }
  [[nodiscard]] bool is_exact() const { return scanned == tokens; }
};

/// most_tokens  larger ranges are scanned in blocks spread evenly over them, so that a start reads
///              at most about this much of a corpus of terabytes
[[nodiscard]] TokenCount count_token(const IndexedDataset& dataset, SequenceRange range, int32_t id,
                                     ThreadPool& pool, int64_t most_tokens);

/// One dataset's share in one part of a run.
struct SourceReport {
  std::string name;                      ///< its prefix
  std::optional<double> weight;          ///< of 1
  int64_t documents = 0;                 ///< that begin in the part
  int64_t tokens = 0;                    ///< of the part
  std::optional<double> eod_share = {};  ///< in [0, 1], from a scan; nothing without an EOD token
  int64_t samples = 0;                   ///< that the run takes
  double epochs = 0;                     ///< how often the run reads the tokens
  /// Tokens that the run never reads as an input. Exact for a run of less than an epoch; beyond,
  /// the mean over all shuffles, or up to a sample above 0 where whole epochs are read.
  int64_t left_out = 0;
};

struct PartReport {
  Part part = Part::train;
  int64_t samples = 0;                ///< that the run takes
  std::vector<SourceReport> sources;  ///< none of mock data
};

/// What the start of a run says about its data.
struct DataReport {
  std::vector<PartReport> parts;  ///< the requested ones
  std::string excerpt = {};       ///< of a sample, with its mask; excerpt_of()

  /// Lines for parts with one dataset, a table for those with several.
  [[nodiscard]] std::string text() const;
};

/// eod  end-of-document id; -1: none is counted. At most about 2^26 tokens are read.
[[nodiscard]] DataReport report_sources(const OpenSources& sources,
                                        const RequestedSamples& requested, int32_t eod,
                                        ThreadPool& pool);

/// A stretch of a sample for the eye: of the first one that a rule changes, around that place, if
/// there is one among the first 32; else the beginning of the first. Each document begins at a `|`
/// (where positions or attention restart), inputs without loss stand in [[ ]]. Text with a
/// tokenizer, ids without (null).
[[nodiscard]] std::string excerpt_of(const Batches& batches, const text::Tokenizer* tokenizer);

/// Entropy of the single tokens of samples [first, first + count), as labels that count, in nats:
/// what a model that knows their frequencies and nothing else would lose. The bar for training.
/// Longer ranges are judged by their first 2^25 tokens.
[[nodiscard]] double unigram_entropy(const Batches& batches, int64_t first, int64_t count,
                                     ThreadPool& pool);

}  // namespace trireme::data
