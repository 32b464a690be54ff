#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

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
  /// name     the part's name in messages, as in "train"
  /// Builds the indices (SampleIndex) for `order`. Throws when the part is empty or too short.
  IndexedSamples(std::shared_ptr<const IndexedDataset> dataset, SequenceRange range,
                 SampleOrder order, std::string name);

  [[nodiscard]] int64_t samples() const override { return index_.samples(); }
  [[nodiscard]] int64_t sequence_length() const override { return index_.sequence_length; }
  void read(int64_t k, std::span<int32_t> tokens) const override;
  [[nodiscard]] std::string origin(int64_t k, int64_t offset) const override;

  [[nodiscard]] const IndexedDataset& dataset() const { return *dataset_; }
  [[nodiscard]] const SampleIndex& index() const { return index_; }

 private:
  std::shared_ptr<const IndexedDataset> dataset_;
  std::string name_;
  SampleIndex index_;
};

/// What is read for one run: where from, which parts, how much.
struct SourceOptions {
  /// Items of --data-path: the prefix of one .bin and .idx pair.
  std::vector<std::string> data_path = {};
  std::string split = "969, 30, 1";  ///< weights of train, validation, test
  uint32_t seed = 1234;
  int64_t sequence_length = 0;
  RequestedSamples requested = {};  ///< a part with 0 requested samples is left out
};

/// The parts of a run's data; null where nothing was requested.
struct SplitSources {
  std::unique_ptr<SampleSource> train;
  std::unique_ptr<SampleSource> valid;
  std::unique_ptr<SampleSource> test;
};

/// Opens the dataset and builds the order of each requested part. Throws when a requested part is
/// empty or has too few tokens for one sample, and for a data path of more than one dataset.
[[nodiscard]] SplitSources open_sources(const SourceOptions& options);

}  // namespace trireme::data
