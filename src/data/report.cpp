#include "data/report.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/format.h"

namespace trireme::data {
namespace {

constexpr int64_t kBlockTokens = int64_t{1} << 16;
constexpr int64_t kMostScanned = int64_t{1} << 26;
constexpr int64_t kMostForEntropy = int64_t{1} << 25;

/// Documents that begin in a range of sequences.
int64_t documents_in(const IndexedDataset& dataset, SequenceRange range) {
  // Documents in front of a sequence; their first sequences ascend.
  const auto before = [&](int64_t sequence) {
    int64_t low = 0;
    int64_t high = dataset.documents();
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      if (dataset.first_sequence(middle) < sequence) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  };
  return before(range.end) - before(range.begin);
}

int64_t left_out(const IndexPlan& plan, int64_t samples) {
  const int64_t tokens = plan.tokens_per_epoch;
  // Inputs of a sample are s tokens that no other sample of the stream has.
  if (plan.epochs.epochs == 1) return std::max<int64_t>(0, tokens - samples * plan.sequence_length);
  if (samples >= plan.epochs.samples_before_last && plan.epochs.separate_last_epoch) return 0;
  // A token is left out when each of its epochs leaves it out, which the shuffle decides.
  const double rest = 1 - static_cast<double>(samples) / static_cast<double>(plan.samples());
  return std::llround(static_cast<double>(tokens) *
                      std::pow(rest, static_cast<double>(plan.epochs.epochs)));
}

SourceReport report_source(const OpenSource& source, int64_t samples, int32_t eod, ThreadPool& pool,
                           int64_t most_tokens) {
  const IndexedDataset& dataset = source.samples->dataset();
  const IndexPlan& plan = source.samples->index().plan();
  SourceReport report = {.name = dataset.prefix().string(),
                         .weight = source.weight,
                         .documents = documents_in(dataset, plan.range),
                         .tokens = plan.tokens_per_epoch,
                         .samples = samples};
  if (eod >= 0) {
    report.eod_share = count_token(dataset, plan.range, eod, pool, most_tokens).share();
  }
  report.epochs = static_cast<double>(samples) * static_cast<double>(plan.sequence_length) /
                  static_cast<double>(report.tokens);
  report.left_out = left_out(plan, samples);
  return report;
}

}  // namespace

TokenCount count_token(const IndexedDataset& dataset, SequenceRange range, int32_t id,
                       ThreadPool& pool, int64_t most_tokens) {
  const int64_t begin = dataset.first_token(range.begin);
  TokenCount count = {.tokens = dataset.first_token(range.end) - begin};
  const int64_t blocks = (count.tokens + kBlockTokens - 1) / kBlockTokens;
  const int64_t wanted = (most_tokens + kBlockTokens - 1) / kBlockTokens;
  const int64_t scanned = std::min(blocks, std::max(int64_t{1}, wanted));
  std::vector<TokenCount> counts(static_cast<size_t>(scanned));
  std::vector<std::vector<int32_t>> buffers(static_cast<size_t>(pool.threads()));
  pool.parallel_for(scanned, [&](int64_t index, int thread) {
    // index * blocks / scanned: ascending, all of them when scanned == blocks.
    const int64_t first = index * blocks / scanned * kBlockTokens;
    std::vector<int32_t>& tokens = buffers[static_cast<size_t>(thread)];
    tokens.resize(static_cast<size_t>(std::min(kBlockTokens, count.tokens - first)));
    dataset.read_stream(begin + first, tokens);
    counts[static_cast<size_t>(index)] = {.scanned = static_cast<int64_t>(tokens.size()),
                                          .found = std::count(tokens.begin(), tokens.end(), id)};
  });
  for (const TokenCount& one : counts) {
    count.scanned += one.scanned;
    count.found += one.found;
  }
  return count;
}

DataReport report_sources(const OpenSources& sources, const RequestedSamples& requested,
                          int32_t eod, ThreadPool& pool) {
  int64_t datasets = 0;
  for (const OpenPart& part : sources.parts) datasets += static_cast<int64_t>(part.datasets.size());
  DataReport report;
  for (const Part part : kParts) {
    const OpenPart& open = sources[part];
    if (open.source == nullptr) continue;
    PartReport& said = report.parts.emplace_back();
    said.part = part;
    said.samples = requested.of(part);
    const std::vector<int64_t> samples = open.samples_among(said.samples);
    for (size_t i = 0; i < open.datasets.size(); ++i) {
      said.sources.push_back(
          report_source(open.datasets[i], samples[i], eod, pool, kMostScanned / datasets));
    }
  }
  return report;
}

double unigram_entropy(const Batches& batches, int64_t first, int64_t count, ThreadPool& pool) {
  const auto words = static_cast<size_t>(batches.rules().vocab_size);
  const auto threads = static_cast<size_t>(pool.threads());
  std::vector<std::vector<int64_t>> times(threads, std::vector<int64_t>(words));
  std::vector<BatchFields> fields(threads);
  count = std::min(count, std::max(int64_t{1}, kMostForEntropy / batches.sequence_length()));
  pool.parallel_for(count, [&](int64_t k, int thread) {
    BatchFields& mine = fields[static_cast<size_t>(thread)];
    batches.fill(first + k, 1, mine);
    for (size_t i = 0; i < mine.labels.size(); ++i) {
      if (mine.loss_mask[i] == 0.0F) continue;
      ++times[static_cast<size_t>(thread)][static_cast<size_t>(mine.labels[i])];
    }
  });
  for (size_t thread = 1; thread < threads; ++thread) {
    for (size_t word = 0; word < words; ++word) times[0][word] += times[thread][word];
  }
  const int64_t labels = std::accumulate(times[0].begin(), times[0].end(), int64_t{0});
  double entropy = 0;
  for (const int64_t n : times[0]) {
    if (n == 0) continue;
    const double share = static_cast<double>(n) / static_cast<double>(labels);
    entropy -= share * std::log(share);
  }
  return entropy;
}

}  // namespace trireme::data
