#include "data/sample_index.h"

#include <algorithm>
#include <limits>
#include <new>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "data/legacy_shuffler.h"

namespace trireme::data {
namespace {

constexpr double kSeparateBelow = 0.80;  // share of the last epoch that is used
constexpr int64_t kMostSequences = std::numeric_limits<int32_t>::max();
constexpr int64_t kMostPositions = int64_t{1} << 33;  // what 64 bits leave beside an offset of 31
constexpr int64_t kMostNarrow = int64_t{1} << 32;     // samples that 32 bits tell apart
constexpr int64_t kMostSamples = int64_t{1} << 40;    // that random numbers tell apart
constexpr int64_t kBlock = int64_t{1} << 14;          // sequences per task

/// The arrays while they are built.
struct Arrays {
  std::shared_ptr<std::byte> bytes;
  std::span<int32_t> sequences;
  std::span<uint64_t> points;
  std::span<uint32_t> order;
  std::span<uint64_t> wide_order;
};

template <class T>
std::span<T> array_at(const std::shared_ptr<std::byte>& bytes, int64_t offset, int64_t count) {
  return {reinterpret_cast<T*>(bytes.get() + offset), static_cast<size_t>(count)};
}

Arrays allocate(const IndexPlan& plan) {
  const IndexLayout layout(plan);
  const int64_t samples = plan.samples();
  try {
    // Not zeroed: the threads that fill it touch it first.
    const std::shared_ptr<std::byte> bytes(new std::byte[static_cast<size_t>(layout.bytes)],
                                           std::default_delete<std::byte[]>());
    return {.bytes = bytes,
            .sequences = array_at<int32_t>(bytes, 0, plan.positions()),
            .points = array_at<uint64_t>(bytes, layout.points, samples + 1),
            .order = array_at<uint32_t>(bytes, layout.order, layout.wide_order ? 0 : samples),
            .wide_order = array_at<uint64_t>(bytes, layout.order, layout.wide_order ? samples : 0)};
  } catch (const std::bad_alloc&) {
    fail({.where = "data",
          .what = format("the order of {} samples takes {} of memory, more than there is", samples,
                         bytes_text(static_cast<double>(layout.bytes))),
          .remedy = "shorten the run, or use a longer --seq-length"});
  }
}

/// shuffle(first to last-but-one part) and shuffle(last part), or one shuffle of all.
template <class T>
void shuffle_parts(LegacyShuffler& shuffler, std::span<T> values, bool separate, int64_t first) {
  const auto cut = static_cast<size_t>(separate ? first : 0);
  if (separate) shuffler.shuffle(values.first(cut));
  shuffler.shuffle(values.subspan(cut));
}

template <class T>
void shuffle_order(LegacyShuffler& shuffler, std::span<T> order, const EpochPlan& epochs) {
  std::iota(order.begin(), order.end(), T{0});
  shuffle_parts(shuffler, order, epochs.separate_last_epoch, epochs.samples_before_last);
}

void fill_epochs(std::span<int32_t> sequences, SequenceRange range, ThreadPool& pool) {
  const auto count = static_cast<int64_t>(sequences.size());
  pool.parallel_for((count + kBlock - 1) / kBlock, [&](int64_t block, int) {
    const int64_t end = std::min(count, (block + 1) * kBlock);
    int64_t in_range = block * kBlock % range.size();
    for (int64_t at = block * kBlock; at < end; ++at) {
      sequences[static_cast<size_t>(at)] = static_cast<int32_t>(range.begin + in_range);
      if (++in_range == range.size()) in_range = 0;
    }
  });
}

/// Cuts the stream of sequences into samples. Row r starts at token r s of the stream, so blocks
/// of sequences can be cut apart from each other once it is known where each begins. Sequences
/// without a token are passed over.
class Cutter {
 public:
  Cutter(const IndexPlan& plan, std::span<const int32_t> lengths, const Arrays& arrays)
      : plan_(plan),
        lengths_(lengths),
        arrays_(arrays),
        starts_(static_cast<size_t>(blocks()) + 1) {}

  [[nodiscard]] int64_t blocks() const { return (plan_.positions() + kBlock - 1) / kBlock; }

  void measure(ThreadPool& pool) {
    pool.parallel_for(blocks(), [&](int64_t block, int) {
      int64_t tokens = 0;
      for (int64_t at = begin(block); at < end(block); ++at) tokens += length_at(at);
      starts_[static_cast<size_t>(block) + 1] = tokens;
    });
    std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
  }

  void cut(int64_t block) const {
    const int64_t s = plan_.sequence_length;
    const auto rows = static_cast<int64_t>(arrays_.points.size());
    int64_t start = starts_[static_cast<size_t>(block)];
    int64_t row = (start + s - 1) / s;
    for (int64_t at = begin(block); at < end(block); ++at) {
      const int64_t stop = start + length_at(at);
      for (; row < rows && row * s < stop; ++row) {
        arrays_.points[static_cast<size_t>(row)] =
            static_cast<uint64_t>(at) << 31 | static_cast<uint64_t>(row * s - start);
      }
      start = stop;
    }
  }

 private:
  [[nodiscard]] int64_t begin(int64_t block) const { return block * kBlock; }
  [[nodiscard]] int64_t end(int64_t block) const {
    return std::min(plan_.positions(), (block + 1) * kBlock);
  }
  [[nodiscard]] int64_t length_at(int64_t position) const {
    const int32_t sequence = arrays_.sequences[static_cast<size_t>(position)];
    return lengths_[static_cast<size_t>(sequence - plan_.range.begin)];
  }

  const IndexPlan& plan_;
  std::span<const int32_t> lengths_;
  const Arrays& arrays_;
  std::vector<int64_t> starts_;  // [blocks + 1] first token of each block in the stream
};

}  // namespace

EpochPlan plan_epochs(int64_t tokens_per_epoch, int64_t sequence_length,
                      std::optional<int64_t> requested_samples) {
  TRIREME_ASSERT(tokens_per_epoch > 0, "an epoch has tokens");
  EpochPlan plan;
  if (!requested_samples) return plan;
  const int64_t needed =
      checked_product(*requested_samples, sequence_length, "tokens to train on") + 1;
  plan.epochs = std::max(int64_t{1}, (needed - 1) / tokens_per_epoch + 1);
  if (plan.epochs == 1) return plan;
  plan.samples_before_last =
      (checked_product(plan.epochs - 1, tokens_per_epoch, "tokens of all epochs") - 1) /
      sequence_length;
  const int64_t of_last = *requested_samples - plan.samples_before_last;
  const int64_t per_epoch = (tokens_per_epoch - 1) / sequence_length;
  TRIREME_ASSERT(of_last >= 0 && of_last <= per_epoch + 1, "the last epoch holds the rest");
  plan.separate_last_epoch =
      of_last < static_cast<int64_t>(kSeparateBelow * static_cast<double>(per_epoch));
  return plan;
}

std::optional<std::string> trouble_of(const IndexPlan& plan) {
  // Each number before what is computed from it: a file may say anything.
  int64_t product = 0;
  if (plan.range.begin < 0 || plan.range.end <= plan.range.begin ||
      plan.range.end > kMostSequences) {
    return format("sequences {} to {}; a dataset has at most {}", plan.range.begin, plan.range.end,
                  kMostSequences);
  }
  if (plan.sequence_length <= 0 || plan.tokens_per_epoch <= 0 || plan.epochs.epochs <= 0) {
    return format("{} epochs of {} tokens in samples of {}", plan.epochs.epochs,
                  plan.tokens_per_epoch, plan.sequence_length);
  }
  if (__builtin_mul_overflow(plan.epochs.epochs, plan.tokens_per_epoch, &product)) {
    return format("{} epochs of {} tokens exceed 63 bits", plan.epochs.epochs,
                  plan.tokens_per_epoch);
  }
  const int64_t range = plan.range.size();
  if (__builtin_mul_overflow(plan.epochs.epochs, range, &product) || product > kMostPositions) {
    return format("{} epochs of {} sequences; a run visits at most {}", plan.epochs.epochs, range,
                  kMostPositions);
  }
  if (plan.samples() > kMostSamples) {
    return format("{} samples; a run has at most {}", plan.samples(), kMostSamples);
  }
  return std::nullopt;
}

IndexPlan plan_index(SequenceRange range, int64_t tokens_per_epoch, const SampleOrder& order) {
  TRIREME_ASSERT(order.sequence_length > 0, "a sample has tokens");
  if (tokens_per_epoch == 0) {
    fail({.where = "data", .what = format("the {} sequences hold no token", range.size())});
  }
  const IndexPlan plan = {
      .range = range,
      .sequence_length = order.sequence_length,
      .seed = order.seed,
      .tokens_per_epoch = tokens_per_epoch,
      .epochs = plan_epochs(tokens_per_epoch, order.sequence_length, order.requested_samples)};
  if (const auto trouble = trouble_of(plan)) {
    fail({.where = "data", .what = *trouble, .remedy = "shorten the run, or use a larger dataset"});
  }
  return plan;
}

IndexLayout::IndexLayout(const IndexPlan& plan) {
  const int64_t samples = plan.samples();
  wide_order = samples > kMostNarrow;
  points = (4 * plan.positions() + 7) / 8 * 8;
  order = points + 8 * (samples + 1);
  bytes = order + (wide_order ? 8 : 4) * samples;
}

SampleIndex::SampleIndex(const IndexPlan& plan, std::shared_ptr<const std::byte> arrays)
    : plan_(plan), arrays_(std::move(arrays)), samples_(plan.samples()) {
  const IndexLayout layout(plan);
  const std::byte* const base = arrays_.get();
  sequences_ = {reinterpret_cast<const int32_t*>(base), static_cast<size_t>(plan.positions())};
  points_ = reinterpret_cast<const uint64_t*>(base + layout.points);
  if (layout.wide_order) {
    wide_order_ = reinterpret_cast<const uint64_t*>(base + layout.order);
  } else {
    order_ = reinterpret_cast<const uint32_t*>(base + layout.order);
  }
}

std::span<const std::byte> SampleIndex::bytes() const {
  return {arrays_.get(), static_cast<size_t>(IndexLayout(plan_).bytes)};
}

SampleIndex build_sample_index(const IndexPlan& plan, std::span<const int32_t> lengths,
                               ThreadPool& pool) {
  TRIREME_ASSERT(static_cast<int64_t>(lengths.size()) == plan.range.size(), "a length a sequence");
  const EpochPlan& epochs = plan.epochs;
  const Arrays arrays = allocate(plan);
  const int64_t gap = IndexLayout(plan).points - 4 * plan.positions();
  std::fill_n(arrays.bytes.get() + 4 * plan.positions(), gap, std::byte{0});

  LegacyShuffler shuffler(plan.seed);
  fill_epochs(arrays.sequences, plan.range, pool);
  shuffle_parts(shuffler, arrays.sequences, epochs.separate_last_epoch,
                (epochs.epochs - 1) * plan.range.size());
  Cutter cutter(plan, lengths, arrays);
  cutter.measure(pool);
  pool.parallel_for(cutter.blocks() + 1, [&](int64_t task, int) {
    if (task > 0) return cutter.cut(task - 1);
    if (arrays.wide_order.empty()) {
      shuffle_order(shuffler, arrays.order, epochs);
    } else {
      shuffle_order(shuffler, arrays.wide_order, epochs);
    }
  });
  arrays.points[0] = 0;  // also where the first sequences have no token, as Megatron-LM has it
  return {plan, arrays.bytes};
}

}  // namespace trireme::data
