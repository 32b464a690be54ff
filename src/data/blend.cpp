#include "data/blend.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <sstream>

#include "core/error.h"
#include "core/format.h"
#include "data/indexed_format.h"

namespace trireme::data {
namespace {

constexpr size_t kMostDatasets = std::numeric_limits<int16_t>::max() - 1;  // Megatron-LM's limit
constexpr double kSurplus = 0.005;
constexpr int64_t kLeastBlock = 1024;

std::optional<double> number(const std::string& item) {
  double value = 0;
  const char* const end = item.data() + item.size();
  const auto [next, error] = std::from_chars(item.data(), end, value);
  // A number too large or too small for a double is one nevertheless.
  if (next != end || error == std::errc::invalid_argument) return std::nullopt;
  return error == std::errc() ? value : std::numeric_limits<double>::infinity();
}

bool is_dataset(const std::string& prefix) {
  std::error_code ignored;
  return std::filesystem::exists(index_path(prefix), ignored);
}

Blend prefixes_alone(std::span<const std::string> items, const std::string& where) {
  for (const std::string& item : items) {
    if (items.size() == 1 || !number(item) || is_dataset(item)) continue;
    fail_usage(
        {.where = where,
         .what = format("\"{}\" stands where a prefix should, in {} items", item, items.size()),
         .rule = items.size() % 2 == 1
                     ? "an odd number of items are prefixes; weights and prefixes are pairs"
                     : "items are prefixes when the first one is no number",
         .remedy = "give each prefix its weight in front of it, or no weights at all"});
  }
  return {.prefixes = {items.begin(), items.end()}};
}

double checked_weight(const std::string& weight, const std::string& prefix,
                      const std::string& where) {
  const std::optional<double> value = number(weight);
  const auto refuse = [&](const char* what, const char* remedy) {
    fail_usage({.where = where,
                .what = format("the weight \"{}\" of {} is {}", weight, prefix, what),
                .rule = "weights are finite numbers above 0; their sum does not matter",
                .remedy = remedy});
  };
  if (!value) refuse("no number", "give weights and prefixes in turn, as in 0.3 A 0.7 B");
  if (!std::isfinite(*value)) refuse("not finite", "give it a share, as in 0.3 A 0.7 B");
  if (*value == 0) refuse("zero", "leave a dataset out that is not to be read");
  if (*value < 0) refuse("negative", "give it a share, as in 0.3 A 0.7 B");
  return *value;
}

/// The order of NumPy's sum of doubles: eight lanes, halves above 128.
double numpy_sum(std::span<const double> values) {
  const size_t n = values.size();
  if (n < 8) return std::accumulate(values.begin(), values.end(), 0.0);
  if (n > 128) {
    const size_t half = n / 2 / 8 * 8;
    return numpy_sum(values.first(half)) + numpy_sum(values.subspan(half));
  }
  std::array<double, 8> lanes = {};
  std::copy_n(values.begin(), 8, lanes.begin());
  size_t i = 8;
  for (; i < n - n % 8; i += 8) {
    for (size_t lane = 0; lane < 8; ++lane) lanes[lane] += values[i + lane];
  }
  double sum = ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
               ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
  for (; i < n; ++i) sum += values[i];
  return sum;
}

}  // namespace

Blend parse_blend(std::span<const std::string> items, std::string_view option) {
  const std::string where(option);
  if (items.empty()) {
    fail_usage({.where = where,
                .what = "names no dataset",
                .remedy = "give the prefix of a .bin and .idx pair"});
  }
  Blend blend;
  if (items.size() % 2 == 1 || !number(items[0])) {
    blend = prefixes_alone(items, where);
  } else {
    for (size_t i = 0; i < items.size(); i += 2) {
      blend.weights.push_back(checked_weight(items[i], items[i + 1], where));
      blend.prefixes.emplace_back(items[i + 1]);
    }
    // Each is finite, their sum need not be.
    if (!std::isfinite(numpy_sum(blend.weights))) {
      fail_usage({.where = where,
                  .what = "the sum of the weights is not finite",
                  .remedy = "use smaller weights; only their ratios matter"});
    }
  }
  if (blend.prefixes.size() > kMostDatasets) {
    fail_usage({.where = where,
                .what = format("names {} datasets", blend.prefixes.size()),
                .rule = format("a blend has at most {}", kMostDatasets),
                .remedy = "join datasets with `trireme preprocess --merge`"});
  }
  return blend;
}

std::vector<std::string> read_data_args(const Path& file) {
  std::istringstream text(read_file(file));
  std::vector<std::string> items;
  for (std::string item; text >> item;) items.push_back(std::move(item));
  if (items.empty()) {
    fail({.where = file.string(),
          .what = "names no dataset",
          .remedy = "write prefixes into it, or weights and prefixes in turn"});
  }
  return items;
}

std::vector<double> normalised_weights(std::span<const double> weights) {
  const double sum = numpy_sum(weights);
  std::vector<double> shares;
  for (const double weight : weights) shares.push_back(weight / sum);
  return shares;
}

int64_t BlendSizes::samples() const {
  return std::accumulate(wanted.begin(), wanted.end(), int64_t{0});
}

BlendSizes blend_sizes(std::span<const double> weights, int64_t requested) {
  BlendSizes sizes;
  for (const double weight : weights) {
    const double wanted = std::ceil(static_cast<double>(requested) * weight);
    sizes.wanted.push_back(static_cast<int64_t>(wanted));
    sizes.built.push_back(static_cast<int64_t>(std::ceil(wanted * (1 + kSurplus))));
  }
  return sizes;
}

BlendIndex BlendIndex::by_weights(std::span<const double> weights, int64_t samples) {
  // Normalised once more, as Megatron-LM does, since that may change a bit.
  return {normalised_weights(weights), {}, samples};
}

BlendIndex BlendIndex::by_sizes(std::span<const int64_t> sizes, int64_t samples) {
  const int64_t total = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
  TRIREME_ASSERT(samples <= total, "each sample is taken once");
  std::vector<double> weights;
  for (const int64_t size : sizes) {
    weights.push_back(static_cast<double>(size) / static_cast<double>(total));
  }
  return {weights, sizes, samples};
}

BlendIndex::BlendIndex(std::span<const double> weights, std::span<const int64_t> limits,
                       int64_t samples)
    : datasets_(static_cast<int64_t>(weights.size())),
      block_(std::max(kLeastBlock, 4 * datasets_)),
      dataset_(static_cast<size_t>(samples)) {
  TRIREME_ASSERT(!weights.empty() && weights.size() <= kMostDatasets, "a blend has datasets");
  std::vector<double> used(weights.size());  // whole numbers, exact below 2^53
  std::vector<uint16_t> open(weights.size());
  std::iota(open.begin(), open.end(), uint16_t{0});
  for (int64_t i = 0; i < samples; ++i) {
    if (i % block_ == 0) {
      for (const double count : used) counts_.push_back(static_cast<int64_t>(count));
    }
    const double at = std::max(static_cast<double>(i), 1.0);
    uint16_t best = open[0];
    double most = std::numeric_limits<double>::lowest();
    for (const uint16_t dataset : open) {
      const double behind = weights[dataset] * at - used[dataset];
      if (behind > most) {
        most = behind;
        best = dataset;
      }
    }
    dataset_[static_cast<size_t>(i)] = best;
    used[best] += 1;
    if (!limits.empty() && static_cast<int64_t>(used[best]) == limits[best]) {
      open.erase(std::find(open.begin(), open.end(), best));
    }
  }
}

BlendIndex::Place BlendIndex::operator[](int64_t k) const {
  TRIREME_ASSERT(k >= 0 && k < samples(), "a sample of the blend");
  const uint16_t dataset = dataset_[static_cast<size_t>(k)];
  const int64_t block = k / block_;
  const auto begin = dataset_.begin() + block * block_;
  return {dataset, counts_[static_cast<size_t>(block * datasets_ + dataset)] +
                       std::count(begin, dataset_.begin() + k, dataset)};
}

std::vector<int64_t> BlendIndex::used(int64_t n) const {
  TRIREME_ASSERT(n >= 0 && n <= samples(), "samples of the blend");
  std::vector<int64_t> counts(static_cast<size_t>(datasets_));
  for (int64_t k = 0; k < n; ++k) ++counts[dataset_[static_cast<size_t>(k)]];
  return counts;
}

}  // namespace trireme::data
