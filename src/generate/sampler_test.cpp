#include "generate/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "core/error.h"

namespace trireme::generate {
namespace {

const std::vector<float> kLogits = {1.0F, 3.0F, 2.0F, 3.0F, -1.0F};

std::map<int32_t, int> histogram(const Sampling& sampling, int count) {
  Sampler sampler(sampling);
  std::map<int32_t, int> counts;
  for (int i = 0; i < count; ++i) counts[sampler.choose(kLogits, 0, i)] += 1;
  return counts;
}

// The counts are those of these shares: chi square below the quantile of 1 in 100,000.
void expect_shares(const std::map<int32_t, int>& counts, const std::map<int32_t, double>& weights) {
  double sum = 0;
  int total = 0;
  for (const auto& [id, weight] : weights) sum += weight;
  for (const auto& [id, count] : counts) {
    EXPECT_EQ(weights.count(id), 1U) << "token " << id << " has no share";
    total += count;
  }
  double chi_square = 0;
  for (const auto& [id, weight] : weights) {
    const double expected = total * weight / sum;
    const auto found = counts.find(id);
    const double difference = (found == counts.end() ? 0 : found->second) - expected;
    chi_square += difference * difference / expected;
  }
  const std::map<size_t, double> quantiles = {{1, 19.5}, {2, 23.0}, {3, 25.9}, {4, 28.5}};
  EXPECT_LT(chi_square, quantiles.at(weights.size() - 1));
}

TEST(Sampler, TakesTheLikeliestLowestIdWhenGreedy) {
  Sampler sampler({.temperature = 0});
  for (int i = 0; i < 5; ++i) EXPECT_EQ(sampler.choose(kLogits, i, i), 1);
}

TEST(Sampler, FollowsTheSoftmaxOfTheTemperature) {
  for (const double temperature : {0.7, 1.0, 2.0}) {
    std::map<int32_t, double> weights;
    for (size_t id = 0; id < kLogits.size(); ++id)
      weights[static_cast<int32_t>(id)] = std::exp(double{kLogits[id]} / temperature);
    expect_shares(histogram({.temperature = temperature}, 40000), weights);
  }
}

TEST(Sampler, DrawsFromTheTopKAndTheTopPInProportion) {
  const double a = std::exp(3.0);
  const double b = std::exp(2.0);
  const double c = std::exp(1.0);
  expect_shares(histogram({.top_k = 2}, 20000), {{1, a}, {3, a}});
  expect_shares(histogram({.top_k = 3}, 20000), {{1, a}, {3, a}, {2, b}});
  // All together the likeliest have 0.397, 0.397, 0.146, 0.054.
  EXPECT_EQ(histogram({.top_p = 0.39}, 500).size(), 1U);
  expect_shares(histogram({.top_p = 0.79}, 20000), {{1, a}, {3, a}});
  expect_shares(histogram({.top_p = 0.93}, 20000), {{1, a}, {3, a}, {2, b}});
  expect_shares(histogram({.top_p = 0.95}, 20000), {{1, a}, {3, a}, {2, b}, {0, c}});
  EXPECT_EQ(histogram({.top_p = 1.0}, 20000), histogram({}, 20000));
}

TEST(Sampler, CutsByTemperatureThenKThenP) {
  const double a = std::exp(3.0);
  const double b = std::exp(2.0);
  // Of the three likeliest alone, two have 0.844: of all five they have 0.794.
  expect_shares(histogram({.top_k = 3, .top_p = 0.82}, 20000), {{1, a}, {3, a}});
  expect_shares(histogram({.top_p = 0.82}, 20000), {{1, a}, {3, a}, {2, b}});
  // At temperature 1/2 two have 0.87 of all.
  expect_shares(histogram({.temperature = 0.5, .top_p = 0.82}, 20000), {{1, a}, {3, a}});
  EXPECT_EQ(histogram({.top_k = 1, .top_p = 0.99}, 500).size(), 1U);
  EXPECT_EQ(histogram({.top_k = 9}, 2000), histogram({}, 2000));
}

TEST(Sampler, DrawsByTheDocumentedRandomNumber) {
  // Two equal logits: the upper bit of the number decides.
  const std::vector<float> even = {1, 1};
  for (const uint32_t seed : {1U, 77U}) {
    Sampler sampler({.seed = seed});
    for (int i = 0; i < 64; ++i) {
      const RandomStream stream = {.seed = seed, .site = RandomSite::sampling, .sample = 5};
      EXPECT_EQ(sampler.choose(even, 5, i), stream.bits(static_cast<uint64_t>(i)) >> 31);
    }
  }
}

TEST(Sampler, IsAFunctionOfSeedSampleAndPosition) {
  Sampler a({.seed = 5});
  Sampler b({.seed = 5});
  Sampler other({.seed = 6});
  int differs = 0;
  for (int i = 0; i < 100; ++i) {
    static_cast<void>(b.choose(kLogits, 9, i));  // what else is chosen does not matter
    const int32_t token = a.choose(kLogits, 3, i);
    EXPECT_EQ(token, b.choose(kLogits, 3, i));
    differs += token != other.choose(kLogits, 3, i) ? 1 : 0;
  }
  EXPECT_GT(differs, 10);
}

TEST(Sampler, RefusesLogitsThatAreNotFinite) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    for (const double temperature : {0.0, 1.0}) {
      Sampler sampler({.temperature = temperature});
      EXPECT_THROW(static_cast<void>(sampler.choose(std::vector<float>{0, bad}, 0, 0)), Error);
    }
  }
}

}  // namespace
}  // namespace trireme::generate
