#include "data/sample_index.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "core/error.h"
#include "core/format.h"

namespace trireme::data {
namespace {

constexpr double kSeparateBelow = 0.80;  // share of the last epoch that is used
constexpr int64_t kMostSequences = std::numeric_limits<int32_t>::max();
// Megatron-LM's shuffle draws 64 bit from here on, and 4-byte positions end here.
constexpr int64_t kMostPositions = int64_t{std::numeric_limits<uint32_t>::max()} - 1;

std::vector<double> parse_weights(std::string_view text) {
  constexpr std::string_view kSeparators = ", \t:/";
  std::vector<double> weights;
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto is_separator = [&](char c) { return kSeparators.find(c) != std::string_view::npos; };
  while (true) {
    while (at != end && is_separator(*at)) ++at;
    if (at == end) break;
    double weight = -1;
    const bool number = *at == '.' || (*at >= '0' && *at <= '9');
    const auto [next, error] = std::from_chars(at, end, weight, std::chars_format::fixed);
    if (!number || error != std::errc() || (next != end && !is_separator(*next))) {
      fail_usage({.where = format("--split \"{}\"", text),
                  .what = format("\"{}\" is not a weight", std::string_view(at, end)),
                  .rule = "weights are numbers of 0 and above, between commas",
                  .remedy = "write for example --split 969,30,1"});
    }
    weights.push_back(weight);
    at = next;
  }
  return weights;
}

int64_t product(int64_t a, int64_t b, std::string_view what) {
  int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) {
    fail_usage({.where = "data",
                .what = format("{} ({} times {}) exceeds 63 bits", what, a, b),
                .remedy = "shorten the run"});
  }
  return result;
}

/// shuffle(first to last-but-one part) and shuffle(last part), or one shuffle of all.
template <class T>
void shuffle_parts(LegacyShuffler& shuffler, std::vector<T>& values, bool separate, int64_t first) {
  const std::span<T> all(values);
  const auto cut = static_cast<size_t>(separate ? first : 0);
  if (separate) shuffler.shuffle(all.first(cut));
  shuffler.shuffle(all.subspan(cut));
}

/// Cuts the stream of sequences into `samples` samples; SampleIndex tells the rule. Sequences
/// without a token are passed over.
std::vector<SamplePoint> cut_samples(std::span<const int32_t> sequences, SequenceRange range,
                                     std::span<const int32_t> lengths, int64_t sequence_length,
                                     int64_t samples) {
  std::vector<SamplePoint> points;
  points.reserve(static_cast<size_t>(samples) + 1);
  size_t position = 0;
  int64_t offset = 0;
  points.push_back({0, 0});
  for (int64_t sample = 0; sample < samples; ++sample) {
    int64_t need = sequence_length + 1;
    for (;;) {
      TRIREME_ASSERT(position < sequences.size(), "the epochs hold all samples");
      const int64_t left = lengths[static_cast<size_t>(sequences[position] - range.begin)] - offset;
      if (need <= left) break;
      need -= left;
      ++position;
      offset = 0;
    }
    offset += need - 1;  // the last token is the first one of the next sample
    points.push_back({static_cast<uint32_t>(position), static_cast<int32_t>(offset)});
  }
  return points;
}

}  // namespace

std::array<SequenceRange, 3> split_ranges(std::string_view weights, int64_t sequences) {
  std::vector<double> shares = parse_weights(weights);
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  if (shares.empty() || shares.size() > 3 || !(sum > 0) || !std::isfinite(sum)) {
    fail_usage({.where = format("--split \"{}\"", weights),
                .what = format("{} weights with sum {}", shares.size(), sum),
                .rule = "one to three weights (train, validation, test), not all of them 0",
                .remedy = "write for example --split 969,30,1"});
  }
  shares.resize(3, 0.0);
  std::array<SequenceRange, 3> ranges;
  double bound = 0;
  int64_t begin = 0;
  for (size_t part = 0; part < ranges.size(); ++part) {
    bound += shares[part] / sum;
    // nearbyint rounds half to even, as Python's round() does.
    const auto end =
        std::clamp(static_cast<int64_t>(std::nearbyint(bound * static_cast<double>(sequences))),
                   begin, sequences);
    ranges[part] = {begin, end};
    begin = end;
  }
  return ranges;
}

RequestedSamples requested_samples(const RunLength& length) {
  TRIREME_ASSERT(length.global_batch_size > 0, "a global batch has samples");
  TRIREME_ASSERT(length.train_iterations > 0 || length.train_samples > 0,
                 "a run is as long as iterations or samples say");
  const int64_t batch = length.global_batch_size;
  const int64_t iterations =
      length.train_iterations > 0 ? length.train_iterations : length.train_samples / batch;
  const int64_t validations =
      length.eval_interval > 0 ? iterations / length.eval_interval + 1 : int64_t{1};
  const int64_t per_validation = product(length.eval_iterations, batch, "samples of an evaluation");
  return {.train = length.train_samples > 0 ? length.train_samples
                                            : product(iterations, batch, "samples to train on"),
          .valid = product(validations, per_validation, "samples to validate on"),
          .test = per_validation};
}

EpochPlan plan_epochs(int64_t tokens_per_epoch, int64_t sequence_length,
                      std::optional<int64_t> requested_samples) {
  TRIREME_ASSERT(tokens_per_epoch > 0, "an epoch has tokens");
  EpochPlan plan;
  if (!requested_samples) return plan;
  const int64_t needed = product(*requested_samples, sequence_length, "tokens to train on") + 1;
  plan.epochs = std::max(int64_t{1}, (needed - 1) / tokens_per_epoch + 1);
  if (plan.epochs == 1) return plan;
  plan.samples_before_last =
      (product(plan.epochs - 1, tokens_per_epoch, "tokens of all epochs") - 1) / sequence_length;
  const int64_t of_last = *requested_samples - plan.samples_before_last;
  const int64_t per_epoch = (tokens_per_epoch - 1) / sequence_length;
  TRIREME_ASSERT(of_last >= 0 && of_last <= per_epoch + 1, "the last epoch holds the rest");
  plan.separate_last_epoch =
      of_last < static_cast<int64_t>(kSeparateBelow * static_cast<double>(per_epoch));
  return plan;
}

SampleIndex build_sample_index(SequenceRange range, std::span<const int32_t> lengths,
                               const SampleOrder& order) {
  TRIREME_ASSERT(static_cast<int64_t>(lengths.size()) == range.size(), "a length per sequence");
  TRIREME_ASSERT(order.sequence_length > 0, "a sample has tokens");
  const int64_t s = order.sequence_length;
  SampleIndex index;
  index.sequence_length = s;
  index.tokens_per_epoch = std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
  const int64_t tokens = index.tokens_per_epoch;
  if (tokens == 0) {
    fail({.where = "data", .what = format("the {} sequences hold no token", range.size())});
  }
  const EpochPlan plan = plan_epochs(tokens, s, order.requested_samples);
  index.epochs = plan.epochs;
  index.separate_last_epoch = plan.separate_last_epoch;
  const int64_t epochs = index.epochs;
  const int64_t samples = (product(epochs, tokens, "tokens of all epochs") - 1) / s;
  const int64_t positions = product(epochs, range.size(), "sequences of all epochs");
  if (range.end > kMostSequences || positions > kMostPositions || samples > kMostPositions) {
    fail(
        {.where = "data",
         .what = format("{} epochs of {} sequences make {} samples", epochs, range.size(), samples),
         .rule = format("a dataset has at most {} sequences, a run visits at most {} of them and "
                        "as many samples",
                        kMostSequences, kMostPositions),
         .remedy = "shorten the run, or use a longer --seq-length or a larger dataset"});
  }
  LegacyShuffler shuffler(order.seed);
  index.sequences.resize(static_cast<size_t>(positions));
  for (int64_t epoch = 0; epoch < epochs; ++epoch) {
    const auto first = index.sequences.begin() + epoch * range.size();
    std::iota(first, first + range.size(), static_cast<int32_t>(range.begin));
  }
  shuffle_parts(shuffler, index.sequences, index.separate_last_epoch, (epochs - 1) * range.size());
  index.points = cut_samples(index.sequences, range, lengths, s, samples);
  index.order.resize(static_cast<size_t>(samples));
  std::iota(index.order.begin(), index.order.end(), uint32_t{0});
  shuffle_parts(shuffler, index.order, index.separate_last_epoch, plan.samples_before_last);
  return index;
}

uint32_t LegacyShuffler::bounded(uint32_t most) {
  // The smallest 2^k - 1 that is >= most.
  const uint32_t mask = most == 0 ? 0 : ~uint32_t{0} >> std::countl_zero(most);
  for (;;) {
    const uint32_t value = draw() & mask;
    if (value <= most) return value;
  }
}

namespace {
template <class T>
void shuffle_with(LegacyShuffler& shuffler, std::span<T> values) {
  for (size_t i = values.size(); i-- > 1;) {
    std::swap(values[i], values[shuffler.bounded(static_cast<uint32_t>(i))]);
  }
}
}  // namespace

void LegacyShuffler::shuffle(std::span<int32_t> values) {
  shuffle_with(*this, values);
}
void LegacyShuffler::shuffle(std::span<uint32_t> values) {
  shuffle_with(*this, values);
}

}  // namespace trireme::data
