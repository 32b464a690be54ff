#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/blend.h"
#include "data/index_cache.h"
#include "data/indexed_dataset.h"
#include "data/sample_index.h"

namespace trireme::data {

/// An order of samples: sample k is always the same s + 1 tokens, whoever asks and however often.
/// k counts consumed samples, so it is the position in the data. Implementations are immutable and
/// may be read by several threads.
class SampleSource {
 public:
  virtual ~SampleSource() = default;

  /// Samples that can be asked for: k in [0, samples()). At least what was requested.
  [[nodiscard]] virtual int64_t samples() const = 0;
  /// s; a sample has one token more, the label of the last position.
  [[nodiscard]] virtual int64_t sequence_length() const = 0;
  /// Writes the s + 1 tokens of sample k. tokens.size() must be s + 1.
  virtual void read(int64_t k, std::span<int32_t> tokens) const = 0;
  /// Where token `offset` of sample k comes from, for messages: "corpus.bin: sequence 12".
  [[nodiscard]] virtual std::string origin(int64_t k, int64_t offset) const = 0;
};

/// Samples of a contiguous range of sequences of one dataset, in Megatron-LM's shuffled order.
class IndexedSamples final : public SampleSource {
 public:
  /// dataset  shared, since the train, validation and test parts of one file map it once
  /// range    the part's sequences; must hold at least s + 1 tokens
  /// cache    where indices are kept; null: the index is built in memory
  /// Throws when the part is empty or too short, naming dataset and part.
  IndexedSamples(std::shared_ptr<const IndexedDataset> dataset, SequenceRange range, Part part,
                 const SampleOrder& order, const IndexCache* cache, ThreadPool& pool);

  [[nodiscard]] int64_t samples() const override { return index_.samples(); }
  [[nodiscard]] int64_t sequence_length() const override { return index_.sequence_length(); }
  void read(int64_t k, std::span<int32_t> tokens) const override;
  [[nodiscard]] std::string origin(int64_t k, int64_t offset) const override;

  [[nodiscard]] const IndexedDataset& dataset() const { return *dataset_; }
  [[nodiscard]] const SampleIndex& index() const { return index_; }

 private:
  std::shared_ptr<const IndexedDataset> dataset_;
  SampleIndex index_;
};

/// Samples of several datasets in the order of a blend.
class BlendedSamples final : public SampleSource {
 public:
  /// Throws when the blend asks a dataset for more samples than it has.
  BlendedSamples(std::vector<std::shared_ptr<const IndexedSamples>> datasets, BlendIndex blend);

  [[nodiscard]] int64_t samples() const override { return blend_.samples(); }
  [[nodiscard]] int64_t sequence_length() const override { return datasets_[0]->sequence_length(); }
  void read(int64_t k, std::span<int32_t> tokens) const override;
  [[nodiscard]] std::string origin(int64_t k, int64_t offset) const override;

  [[nodiscard]] const BlendIndex& blend() const { return blend_; }

 private:
  std::vector<std::shared_ptr<const IndexedSamples>> datasets_;
  BlendIndex blend_;
};

/// Samples without a file: each token is drawn evenly from the vocabulary, as a function of seed,
/// part, sample and place. What a model can learn from them is that: the loss tends to ln V.
class MockSamples final : public SampleSource {
 public:
  struct Options {
    int64_t vocab_size = 0;
    int64_t sequence_length = 0;
    int64_t samples = 0;
    uint32_t seed = 1234;
    Part part = Part::train;
  };
  explicit MockSamples(const Options& options) : options_(options) {}

  [[nodiscard]] int64_t samples() const override { return options_.samples; }
  [[nodiscard]] int64_t sequence_length() const override { return options_.sequence_length; }
  void read(int64_t k, std::span<int32_t> tokens) const override;
  [[nodiscard]] std::string origin(int64_t k, int64_t offset) const override;

 private:
  Options options_;
};

}  // namespace trireme::data
