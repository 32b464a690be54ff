#include "data/report.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace trireme::data {
namespace {
constexpr int64_t kBlockTokens = int64_t{1} << 16;
}

DatasetReport report_dataset(const IndexedDataset& dataset, int32_t eod, ThreadPool& pool,
                             int64_t most_tokens) {
  DatasetReport report = {.documents = dataset.documents(),
                          .sequences = dataset.sequences(),
                          .tokens = dataset.tokens(),
                          .token_type = dataset.token_type()};
  const int64_t blocks = (report.tokens + kBlockTokens - 1) / kBlockTokens;
  const int64_t scanned = std::min(blocks, std::max(int64_t{1}, most_tokens / kBlockTokens));
  struct Count {
    int64_t tokens = 0;
    int64_t eod = 0;
    int32_t largest = -1;
  };
  std::vector<Count> counts(static_cast<size_t>(scanned));
  std::vector<std::vector<int32_t>> buffers(static_cast<size_t>(pool.threads()));
  pool.parallel_for(scanned, [&](int64_t index, int thread) {
    // index * blocks / scanned: ascending, all of them when scanned == blocks.
    const int64_t first = index * blocks / scanned * kBlockTokens;
    std::vector<int32_t>& tokens = buffers[static_cast<size_t>(thread)];
    tokens.resize(static_cast<size_t>(std::min(kBlockTokens, report.tokens - first)));
    dataset.read_stream(first, tokens);
    Count& count = counts[static_cast<size_t>(index)];
    count.tokens = static_cast<int64_t>(tokens.size());
    count.eod = eod >= 0 ? std::count(tokens.begin(), tokens.end(), eod) : 0;
    count.largest = *std::max_element(tokens.begin(), tokens.end());
  });
  for (const Count& count : counts) {
    report.scanned_tokens += count.tokens;
    report.eod_tokens += count.eod;
    report.largest_token = std::max(report.largest_token, count.largest);
  }
  return report;
}

double unigram_entropy(const Batches& batches, int64_t first, int64_t count) {
  std::vector<int64_t> times(static_cast<size_t>(batches.rules().vocab_size));
  BatchFields fields;
  int64_t labels = 0;
  for (int64_t k = first; k < first + count; ++k) {
    batches.fill(k, 1, fields);
    for (size_t i = 0; i < fields.labels.size(); ++i) {
      if (fields.loss_mask[i] == 0.0F) continue;
      ++times[static_cast<size_t>(fields.labels[i])];
      ++labels;
    }
  }
  double entropy = 0;
  for (const int64_t n : times) {
    if (n == 0) continue;
    const double share = static_cast<double>(n) / static_cast<double>(labels);
    entropy -= share * std::log(share);
  }
  return entropy;
}

}  // namespace trireme::data
