#include "data/split.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/format.h"

namespace trireme::data {
namespace {

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
  const int64_t per_validation =
      checked_product(length.eval_iterations, batch, "samples of an evaluation");
  return {.train = length.train_samples > 0
                       ? length.train_samples
                       : checked_product(iterations, batch, "samples to train on"),
          .valid = checked_product(validations, per_validation, "samples to validate on"),
          .test = per_validation};
}

int64_t checked_product(int64_t a, int64_t b, std::string_view what) {
  int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) {
    fail_usage({.where = "data",
                .what = format("{} ({} times {}) exceeds 63 bits", what, a, b),
                .remedy = "shorten the run"});
  }
  return result;
}

}  // namespace trireme::data
