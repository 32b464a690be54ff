#include "data/unigram.h"

#include <cmath>
#include <vector>

namespace trireme::data {
namespace {

std::vector<int64_t> token_counts(const IndexedDataset& dataset, SequenceRange range,
                                  int64_t vocabulary) {
  std::vector<int64_t> counts(static_cast<size_t>(vocabulary), 0);
  std::vector<int32_t> tokens;
  for (int64_t sequence = range.begin; sequence < range.end; ++sequence) {
    tokens.resize(static_cast<size_t>(dataset.length(sequence)));
    dataset.read(sequence, 0, tokens);
    for (const int32_t token : tokens) {
      if (token >= 0 && token < vocabulary) counts[static_cast<size_t>(token)] += 1;
    }
  }
  return counts;
}

}  // namespace

double unigram_entropy(const IndexedDataset& dataset, SequenceRange train, SequenceRange held_out,
                       int64_t vocabulary) {
  const std::vector<int64_t> seen = token_counts(dataset, train, vocabulary);
  const std::vector<int64_t> asked = token_counts(dataset, held_out, vocabulary);
  double total = static_cast<double>(vocabulary);
  for (const int64_t count : seen) total += static_cast<double>(count);
  double nats = 0;
  double tokens = 0;
  for (size_t id = 0; id < seen.size(); ++id) {
    nats -= static_cast<double>(asked[id]) * std::log((static_cast<double>(seen[id]) + 1) / total);
    tokens += static_cast<double>(asked[id]);
  }
  return tokens > 0 ? nats / tokens : 0;
}

}  // namespace trireme::data
