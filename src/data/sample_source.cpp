#include "data/sample_source.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/format.h"
#include "core/random.h"

namespace trireme::data {
namespace {

std::vector<int32_t> lengths_of(const IndexedDataset& dataset, SequenceRange range) {
  std::vector<int32_t> lengths(static_cast<size_t>(range.size()));
  for (int64_t i = 0; i < range.size(); ++i) {
    lengths[static_cast<size_t>(i)] = static_cast<int32_t>(dataset.length(range.begin + i));
  }
  return lengths;
}

/// The tokens of a part, which has to hold one sample at least.
int64_t tokens_of(const IndexedDataset& dataset, SequenceRange range, Part part,
                  int64_t sequence_length) {
  const std::string where = format("{}, {} part", dataset.prefix().string(), name_of(part));
  if (dataset.sequences() == 0) {
    fail({.where = where, .what = "the dataset is empty", .remedy = "leave it out"});
  }
  if (range.size() == 0) {
    fail({.where = where,
          .what = format("the split leaves it none of the {} sequences", dataset.sequences()),
          .remedy = format(
              "give the part a larger weight in --split, use a dataset with more "
              "documents{}",
              part == Part::validation ? ", or go without validation (--eval-iters 0)" : "")});
  }
  const int64_t tokens = dataset.first_token(range.end) - dataset.first_token(range.begin);
  if (tokens < sequence_length + 1) {
    fail({.where = where,
          .what = format("has {} tokens in {} sequences", tokens, range.size()),
          .rule = format("one sample takes --seq-length + 1 = {} tokens", sequence_length + 1),
          .remedy = "use a shorter --seq-length, a larger weight in --split or more text"});
  }
  return tokens;
}

SampleIndex make_index(const IndexedDataset& dataset, SequenceRange range, Part part,
                       const SampleOrder& order, const IndexCache* cache, ThreadPool& pool) {
  const int64_t tokens = tokens_of(dataset, range, part, order.sequence_length);
  const IndexPlan plan = plan_index(range, tokens, order);
  const std::vector<int32_t> lengths = lengths_of(dataset, range);
  const auto build = [&] { return build_sample_index(plan, lengths, pool); };
  return cache == nullptr ? build() : cache->get(identity_of(plan, lengths), build, pool);
}

}  // namespace

IndexedSamples::IndexedSamples(std::shared_ptr<const IndexedDataset> dataset, SequenceRange range,
                               Part part, const SampleOrder& order, const IndexCache* cache,
                               ThreadPool& pool)
    : dataset_(std::move(dataset)),
      index_(make_index(*dataset_, range, part, order, cache, pool)) {}

void IndexedSamples::read(int64_t k, std::span<int32_t> tokens) const {
  TRIREME_ASSERT(k >= 0 && k < samples(), "a sample of the order");
  TRIREME_ASSERT(static_cast<int64_t>(tokens.size()) == sequence_length() + 1,
                 "a sample has one token more than the sequence length");
  auto [position, offset] = index_.point(index_.row(k));
  while (!tokens.empty()) {
    const int32_t sequence = index_.sequences()[static_cast<size_t>(position)];
    const int64_t left = dataset_->length(sequence) - offset;
    const auto take = static_cast<size_t>(std::min(left, static_cast<int64_t>(tokens.size())));
    dataset_->read(sequence, offset, tokens.first(take));
    tokens = tokens.subspan(take);
    ++position;
    offset = 0;
  }
}

std::string IndexedSamples::origin(int64_t k, int64_t offset) const {
  const SamplePoint start = index_.point(index_.row(k));
  const int32_t* sequence = index_.sequences().data() + start.position;
  offset += start.offset;
  while (offset >= dataset_->length(*sequence)) offset -= dataset_->length(*sequence++);
  return format("{}: token {} of sequence {}", tokens_path(dataset_->prefix()).string(), offset,
                *sequence);
}

BlendedSamples::BlendedSamples(std::vector<std::shared_ptr<const IndexedSamples>> datasets,
                               BlendIndex blend)
    : datasets_(std::move(datasets)), blend_(std::move(blend)) {
  const std::vector<int64_t> used = blend_.used(blend_.samples());
  for (size_t i = 0; i < datasets_.size(); ++i) {
    if (used[i] <= datasets_[i]->samples()) continue;
    fail({.where = datasets_[i]->dataset().prefix().string(),
          .what = format("the blend takes {} samples from it, {} are made ready", used[i],
                         datasets_[i]->samples()),
          .rule = "0.5% more than its share are made ready, as Megatron-LM does",
          .remedy = "change --train-iters or --global-batch-size a little"});
  }
}

void BlendedSamples::read(int64_t k, std::span<int32_t> tokens) const {
  const BlendIndex::Place place = blend_[k];
  datasets_[static_cast<size_t>(place.dataset)]->read(place.sample, tokens);
}

std::string BlendedSamples::origin(int64_t k, int64_t offset) const {
  const BlendIndex::Place place = blend_[k];
  return datasets_[static_cast<size_t>(place.dataset)]->origin(place.sample, offset);
}

void MockSamples::read(int64_t k, std::span<int32_t> tokens) const {
  const RandomStream stream = {.seed = options_.seed,
                               .site = RandomSite::mock_data,
                               .layer = static_cast<uint32_t>(options_.part),
                               .sample = static_cast<uint64_t>(k)};
  const auto words = static_cast<uint64_t>(options_.vocab_size);
  for (size_t first = 0; first < tokens.size(); first += 4) {
    const RandomBlock block = stream.block(first / 4);
    for (size_t lane = 0; lane < std::min<size_t>(4, tokens.size() - first); ++lane) {
      tokens[first + lane] = static_cast<int32_t>(block[lane] * words >> 32);
    }
  }
}

std::string MockSamples::origin(int64_t k, int64_t offset) const {
  return format("mock data: token {} of sample {}", offset, k);
}

}  // namespace trireme::data
