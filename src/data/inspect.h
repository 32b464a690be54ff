#pragma once
#include <cstdint>
#include <vector>

#include "data/indexed_dataset.h"

namespace trireme::data {

/// How long the sequences of a dataset are.
struct LengthStatistics {
  /// Sequences of [first, last] tokens; the first one holds the empty sequences, then come powers
  /// of two: 1, 2-3, 4-7, ...
  struct Bucket {
    int64_t first = 0;
    int64_t last = 0;
    int64_t sequences = 0;
    int64_t tokens = 0;
    bool operator==(const Bucket&) const = default;
  };
  std::vector<Bucket> buckets;  ///< up to the longest sequence
  int64_t shortest = 0;
  int64_t longest = 0;
  int64_t median = 0;  ///< the lower one where there are two
  double mean = 0;
  int64_t empty_documents = 0;  ///< without a token
};

/// Reads the lengths, not the tokens. Memory: 4 bytes per sequence.
[[nodiscard]] LengthStatistics length_statistics(const IndexedDataset& dataset);

}  // namespace trireme::data
