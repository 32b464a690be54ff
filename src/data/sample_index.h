#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "core/thread_pool.h"
#include "data/split.h"

namespace trireme::data {

/// How often a run reads a part's tokens, and whether the last time is shuffled apart: the two ways
/// in which the order of samples depends on a run's length.
struct EpochPlan {
  int64_t epochs = 1;
  bool separate_last_epoch = false;
  int64_t samples_before_last = 0;  ///< of the epochs in front of the last
  bool operator==(const EpochPlan&) const = default;
};

/// tokens_per_epoch   at least 1
/// requested_samples  nothing: one epoch
[[nodiscard]] EpochPlan plan_epochs(int64_t tokens_per_epoch, int64_t sequence_length,
                                    std::optional<int64_t> requested_samples);

/// What an order of samples is made from.
struct SampleOrder {
  int64_t sequence_length = 0;               ///< s; a sample takes s + 1 tokens
  std::optional<int64_t> requested_samples;  ///< nothing: one epoch
  uint32_t seed = 1234;
};

/// Everything that an index is a function of, the lengths of its sequences aside.
struct IndexPlan {
  SequenceRange range;
  int64_t sequence_length = 0;
  uint32_t seed = 0;
  int64_t tokens_per_epoch = 0;
  EpochPlan epochs;

  /// Sequences of all epochs, and samples cut from them.
  [[nodiscard]] int64_t positions() const { return epochs.epochs * range.size(); }
  [[nodiscard]] int64_t samples() const {
    return (epochs.epochs * tokens_per_epoch - 1) / sequence_length;
  }
  bool operator==(const IndexPlan&) const = default;
};

/// Throws when the range has no token or an index would pass its type: 2^31 - 1 sequences, 2^33 of
/// them over all epochs, 2^40 samples, 63 bits of tokens.
[[nodiscard]] IndexPlan plan_index(SequenceRange range, int64_t tokens_per_epoch,
                                   const SampleOrder& order);
/// The same refusals for a plan from elsewhere, as a file; the words that are wrong with it, or
/// nothing.
[[nodiscard]] std::optional<std::string> trouble_of(const IndexPlan& plan);

/// Where a sample starts in the stream of tokens.
struct SamplePoint {
  int64_t position;  ///< in SampleIndex::sequences
  int64_t offset;    ///< token inside that sequence
  bool operator==(const SamplePoint&) const = default;
};

/// Bytes of an index's arrays, which lie one behind the other, in memory as in a file
/// (sample_index_file.h): i32[positions] sequences; from a multiple of 8, u64[samples + 1] points =
/// position << 31 | offset; u32[samples] order, u64 above 2^32 samples.
struct IndexLayout {
  explicit IndexLayout(const IndexPlan& plan);
  int64_t points = 0;
  int64_t order = 0;
  bool wide_order = false;
  int64_t bytes = 0;
};

/// Megatron-LM's three indices of one part of one dataset: the sequences of all epochs shuffled and
/// laid end to end, that stream cut into samples which share one token with their successor, and
/// the samples shuffled. Where the last epoch would be used for less than 80%, it is shuffled apart
/// and stays behind the others, in both shuffles.
///
/// Equal on every machine for equal input. Immutable, and a cheap copy: the arrays are shared, and
/// lie in memory of their own or in a mapped file. 4 bytes per sequence and epoch, 12 per sample.
class SampleIndex {
 public:
  /// arrays  as IndexLayout says, aligned to 8; filled by a builder, or checked by a reader
  SampleIndex(const IndexPlan& plan, std::shared_ptr<const std::byte> arrays);

  [[nodiscard]] const IndexPlan& plan() const { return plan_; }
  [[nodiscard]] int64_t sequence_length() const { return plan_.sequence_length; }
  [[nodiscard]] int64_t samples() const { return samples_; }
  /// Sequence numbers in the order of the stream, positions() of them.
  [[nodiscard]] std::span<const int32_t> sequences() const { return sequences_; }
  /// Where row in [0, samples()] of the stream starts; the last one is the end.
  [[nodiscard]] SamplePoint point(int64_t row) const {
    const uint64_t packed = points_[row];
    return {static_cast<int64_t>(packed >> 31), static_cast<int64_t>(packed & kOffsetMask)};
  }
  /// The row that position k in [0, samples()) of a run reads.
  [[nodiscard]] int64_t row(int64_t k) const {
    return wide_order_ != nullptr ? static_cast<int64_t>(wide_order_[k]) : int64_t{order_[k]};
  }
  /// The arrays, IndexLayout(plan()).bytes of them.
  [[nodiscard]] std::span<const std::byte> bytes() const;

 private:
  static constexpr uint64_t kOffsetMask = 0x7fffffff;

  IndexPlan plan_;
  std::shared_ptr<const std::byte> arrays_;
  int64_t samples_ = 0;
  std::span<const int32_t> sequences_;
  const uint64_t* points_ = nullptr;
  const uint32_t* order_ = nullptr;
  const uint64_t* wide_order_ = nullptr;
};

/// lengths  tokens of each sequence of the plan's range, lengths[0] belonging to range.begin
/// The shuffles are one stream of random numbers and run on one thread; the stream is cut by the
/// others meanwhile.
[[nodiscard]] SampleIndex build_sample_index(const IndexPlan& plan,
                                             std::span<const int32_t> lengths, ThreadPool& pool);

}  // namespace trireme::data
