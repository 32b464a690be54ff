#include "data/inspect.h"

#include <algorithm>
#include <bit>

namespace trireme::data {

LengthStatistics length_statistics(const IndexedDataset& dataset) {
  LengthStatistics statistics;
  for (int64_t document = 0; document < dataset.documents(); ++document) {
    int64_t tokens = 0;
    const int64_t end = dataset.first_sequence(document + 1);
    for (int64_t q = dataset.first_sequence(document); q < end; ++q) tokens += dataset.length(q);
    statistics.empty_documents += tokens == 0 ? 1 : 0;
  }
  if (dataset.sequences() == 0) return statistics;

  std::vector<int32_t> lengths(static_cast<size_t>(dataset.sequences()));
  for (size_t i = 0; i < lengths.size(); ++i)
    lengths[i] = static_cast<int32_t>(dataset.length(static_cast<int64_t>(i)));
  const auto [shortest, longest] = std::minmax_element(lengths.begin(), lengths.end());
  statistics.shortest = *shortest;
  statistics.longest = *longest;
  statistics.mean = static_cast<double>(dataset.tokens()) / static_cast<double>(lengths.size());

  // Bucket k > 0 holds the lengths of k bits.
  const auto bits = [](int32_t length) { return std::bit_width(static_cast<uint32_t>(length)); };
  statistics.buckets.resize(static_cast<size_t>(bits(*longest)) + 1);
  for (size_t k = 1; k < statistics.buckets.size(); ++k) {
    statistics.buckets[k].first = int64_t{1} << (k - 1);
    statistics.buckets[k].last = (int64_t{1} << k) - 1;
  }
  for (const int32_t length : lengths) {
    LengthStatistics::Bucket& bucket = statistics.buckets[static_cast<size_t>(bits(length))];
    ++bucket.sequences;
    bucket.tokens += length;
  }
  const auto middle = lengths.begin() + (static_cast<std::ptrdiff_t>(lengths.size()) - 1) / 2;
  std::nth_element(lengths.begin(), middle, lengths.end());
  statistics.median = *middle;
  return statistics;
}

}  // namespace trireme::data
