#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include "core/thread_pool.h"

namespace trireme::data {

/// Sequences [begin, end) of a dataset.
struct SequenceRange {
  int64_t begin = 0;
  int64_t end = 0;
  [[nodiscard]] int64_t size() const { return end - begin; }
  bool operator==(const SequenceRange&) const = default;
};

/// The train, validation and test parts of `sequences` sequences by weights as in "969, 30, 1"
/// (numbers between commas, blanks, colons or slashes; missing ones are 0). A part may be empty.
/// Source: Megatron-LM's split: float64 shares, cumulative bounds, rounded half to even.
/// Throws a usage error for anything that is not one to three weights >= 0 with a sum above 0.
[[nodiscard]] std::array<SequenceRange, 3> split_ranges(std::string_view weights,
                                                        int64_t sequences);

/// How long a run is. Where one of train_iterations and train_samples is 0 it follows from the
/// other by the size of the batch; where the batch grows, both are given and the size is the
/// largest.
struct RunLength {
  int64_t train_iterations = 0;
  int64_t train_samples = 0;
  int64_t global_batch_size = 0;
  int64_t eval_interval = 0;  ///< iterations between validations; 0: none on the way
  int64_t eval_iterations = 0;
};

struct RequestedSamples {
  int64_t train = 0;
  int64_t valid = 0;
  int64_t test = 0;
  bool operator==(const RequestedSamples&) const = default;
};

/// Samples each part must offer: all training steps; eval_iterations batches at every interval and
/// once more at the end; eval_iterations batches of test. Throws when a product exceeds 63 bits.
[[nodiscard]] RequestedSamples requested_samples(const RunLength& length);

/// What an order of samples is made from.
struct SampleOrder {
  int64_t sequence_length = 0;               ///< s; a sample takes s + 1 tokens
  std::optional<int64_t> requested_samples;  ///< nothing: one epoch
  uint32_t seed = 1234;
};

/// Where a sample starts in the stream of tokens.
struct SamplePoint {
  uint32_t position;  ///< in SampleIndex::sequences
  int32_t offset;     ///< token inside that sequence
  bool operator==(const SamplePoint&) const = default;
};

/// Megatron-LM's three indices of one part of one dataset: the sequences of all epochs shuffled and
/// laid end to end, that stream cut into samples which share one token with their successor, and
/// the samples shuffled. Where the last epoch would be used for less than 80%, it is shuffled apart
/// and stays behind the others, in both shuffles.
///
/// Memory: 4 bytes per sequence and epoch, 12 per sample. Equal on every machine for equal input.
struct SampleIndex {
  int64_t sequence_length = 0;
  int64_t tokens_per_epoch = 0;
  int64_t epochs = 0;
  bool separate_last_epoch = false;
  std::vector<int32_t> sequences;   ///< sequence numbers, epochs * range.size() of them
  std::vector<SamplePoint> points;  ///< [samples() + 1], in stream order; the last one is the end
  std::vector<uint32_t> order;      ///< [samples()], position k of the run -> row of points

  [[nodiscard]] int64_t samples() const { return static_cast<int64_t>(order.size()); }
};

/// How often a run reads a part's tokens, and whether the last time is shuffled apart: the two ways
/// in which the order of samples depends on a run's length.
struct EpochPlan {
  int64_t epochs = 1;
  bool separate_last_epoch = false;
  int64_t samples_before_last = 0;  ///< of the epochs in front of the last
  bool operator==(const EpochPlan&) const = default;
};

/// tokens_per_epoch  at least 1
[[nodiscard]] EpochPlan plan_epochs(int64_t tokens_per_epoch, int64_t sequence_length,
                                    std::optional<int64_t> requested_samples);

/// lengths  tokens of each sequence of the range, lengths[0] belonging to range.begin
/// Throws when the range has no token or an index would pass its type (2^31 sequences, 2^32
/// samples).
[[nodiscard]] SampleIndex build_sample_index(SequenceRange range, std::span<const int32_t> lengths,
                                             const SampleOrder& order);

/// numpy.random.RandomState(seed) as far as shuffle() goes: MT19937 by init_genrand(seed), bounded
/// draws by masked rejection. One generator, several shuffles: the draws go on.
class LegacyShuffler {
 public:
  explicit LegacyShuffler(uint32_t seed) : generator_(seed) {}

  [[nodiscard]] uint32_t draw() { return static_cast<uint32_t>(generator_()); }
  /// Uniform in [0, most].
  [[nodiscard]] uint32_t bounded(uint32_t most);
  void shuffle(std::span<int32_t> values);
  void shuffle(std::span<uint32_t> values);

 private:
  std::mt19937 generator_;  // the standard fixes its seeding, and it is init_genrand
};

}  // namespace trireme::data
