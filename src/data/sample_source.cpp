#include "data/sample_source.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/format.h"

namespace trireme::data {
namespace {

SampleIndex build_checked(const IndexedDataset& dataset, SequenceRange range,
                          const SampleOrder& order, const std::string& name) {
  const std::string where = format("{}, {} part", dataset.prefix().string(), name);
  if (range.size() == 0) {
    fail({.where = where,
          .what = format("the split leaves it none of the {} sequences", dataset.sequences()),
          .remedy =
              "give the part a larger weight in --split, use a dataset with more documents, or go "
              "without validation (--eval-iters 0)"});
  }
  std::vector<int32_t> lengths(static_cast<size_t>(range.size()));
  int64_t tokens = 0;
  for (int64_t i = 0; i < range.size(); ++i) {
    const int64_t length = dataset.length(range.begin + i);
    lengths[static_cast<size_t>(i)] = static_cast<int32_t>(length);
    tokens += length;
  }
  if (tokens < order.sequence_length + 1) {
    fail(
        {.where = where,
         .what = format("has {} tokens in {} sequences", tokens, range.size()),
         .rule = format("one sample takes --seq-length + 1 = {} tokens", order.sequence_length + 1),
         .remedy = "use a shorter --seq-length, a larger weight in --split or more text"});
  }
  return build_sample_index(range, lengths, order);
}

}  // namespace

IndexedSamples::IndexedSamples(std::shared_ptr<const IndexedDataset> dataset, SequenceRange range,
                               SampleOrder order, std::string name)
    : dataset_(std::move(dataset)),
      name_(std::move(name)),
      index_(build_checked(*dataset_, range, order, name_)) {}

void IndexedSamples::read(int64_t k, std::span<int32_t> tokens) const {
  TRIREME_ASSERT(k >= 0 && k < samples(), "a sample of the order");
  TRIREME_ASSERT(static_cast<int64_t>(tokens.size()) == sequence_length() + 1,
                 "a sample has one token more than the sequence length");
  auto [position, start] = index_.points[index_.order[static_cast<size_t>(k)]];
  int64_t offset = start;
  while (!tokens.empty()) {
    const int32_t sequence = index_.sequences[position];
    const int64_t left = dataset_->length(sequence) - offset;
    const auto take = static_cast<size_t>(std::min(left, static_cast<int64_t>(tokens.size())));
    dataset_->read(sequence, offset, tokens.first(take));
    tokens = tokens.subspan(take);
    ++position;
    offset = 0;
  }
}

std::string IndexedSamples::origin(int64_t k, int64_t offset) const {
  auto [position, start] = index_.points[index_.order[static_cast<size_t>(k)]];
  offset += start;
  while (offset >= dataset_->length(index_.sequences[position])) {
    offset -= dataset_->length(index_.sequences[position]);
    ++position;
  }
  return format("{}: token {} of sequence {}", tokens_path(dataset_->prefix()).string(), offset,
                index_.sequences[position]);
}

SplitSources open_sources(const SourceOptions& options) {
  if (options.data_path.size() != 1) {
    fail_usage({.where = "--data-path",
                .what = format("has {} items", options.data_path.size()),
                .rule = "a run reads one dataset, given by the prefix of its .bin and .idx",
                .remedy = "put several corpora into one dataset with `trireme preprocess --input A "
                          "B ...`"});
  }
  const auto dataset = std::make_shared<const IndexedDataset>(options.data_path[0]);
  const auto ranges = split_ranges(options.split, dataset->sequences());
  const auto open = [&](SequenceRange range, int64_t requested,
                        const char* name) -> std::unique_ptr<SampleSource> {
    if (requested == 0) return nullptr;
    const SampleOrder order = {options.sequence_length, requested, options.seed};
    return std::make_unique<IndexedSamples>(dataset, range, order, name);
  };
  return {.train = open(ranges[0], options.requested.train, "train"),
          .valid = open(ranges[1], options.requested.valid, "validation"),
          .test = open(ranges[2], options.requested.test, "test")};
}

}  // namespace trireme::data
