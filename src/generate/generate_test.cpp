#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "comm/local/solo.h"
#include "core/error.h"
#include "device/cpu/cpu_device.h"
#include "engine/initialise.h"
#include "generate/generator.h"
#include "generate/sampler.h"

namespace trireme::generate {
namespace {

const std::vector<float> kLogits = {1.0F, 3.0F, 2.0F, 3.0F, -1.0F};

std::map<int32_t, int> histogram(const Sampling& sampling, int count) {
  Sampler sampler(sampling);
  std::map<int32_t, int> counts;
  for (int i = 0; i < count; ++i) counts[sampler.choose(kLogits, 0, i)] += 1;
  return counts;
}

TEST(Sampler, TakesTheLikeliestLowestIdWhenGreedy) {
  Sampler sampler({.temperature = 0});
  for (int i = 0; i < 5; ++i) EXPECT_EQ(sampler.choose(kLogits, i, i), 1);
}

TEST(Sampler, FollowsTheSoftmaxOfTheTemperature) {
  constexpr int kCount = 40000;
  for (const double temperature : {0.7, 1.0, 2.0}) {
    const auto counts = histogram({.temperature = temperature}, kCount);
    double sum = 0;
    for (const float logit : kLogits) sum += std::exp(static_cast<double>(logit) / temperature);
    for (size_t id = 0; id < kLogits.size(); ++id) {
      const double expected = std::exp(static_cast<double>(kLogits[id]) / temperature) / sum;
      const auto found = counts.find(static_cast<int32_t>(id));
      const double share = found == counts.end() ? 0 : found->second / double{kCount};
      EXPECT_NEAR(share, expected, 5 * std::sqrt(expected * (1 - expected) / kCount))
          << id << " at " << temperature;
    }
  }
}

TEST(Sampler, KeepsToTheTopKAndTheTopP) {
  for (const auto& [id, count] : histogram({.top_k = 2}, 2000))
    EXPECT_TRUE(id == 1 || id == 3) << count;
  EXPECT_EQ(histogram({.top_k = 3}, 2000).size(), 3U);
  // the likeliest have 0.397, 0.397, 0.146
  EXPECT_EQ(histogram({.top_p = 0.39}, 500).size(), 1U);
  EXPECT_EQ(histogram({.top_p = 0.79}, 2000).size(), 2U);
  EXPECT_EQ(histogram({.top_p = 0.9}, 2000).size(), 3U);
  EXPECT_EQ(histogram({.top_k = 1, .top_p = 0.99}, 500).size(), 1U);
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
  Sampler sampler({});
  const std::vector<float> bad = {0, std::numeric_limits<float>::quiet_NaN()};
  EXPECT_THROW(static_cast<void>(sampler.choose(bad, 0, 0)), Error);
}

class GeneratorTest : public testing::Test {
 protected:
  GeneratorTest()
      : session_(model::plan_run({.shape = {.layers = 2,
                                            .hidden = 16,
                                            .heads = 2,
                                            .ffn = 64,
                                            .length = 12,
                                            .positions = 12,
                                            .vocabulary = 29},
                                  .train = false,
                                  .decode_capacity = 12}),
                 {.device = &cpu_, .kernels = &ops::reference_kernels()}, solo_) {
    const auto& plan = session_.plan();
    for (int i = 0; i < plan.table.size(); ++i) {
      const TensorId id{i};
      if (plan.table[id].tied_to) continue;
      std::vector<float> values(static_cast<size_t>(session_.slice_elements(id)));
      parallel::Tensor tensor = plan.table[id];
      tensor.init.deviation *= 20;  // a model with opinions
      engine::initial_values(tensor, plan.local[id].slice, 3, cpu_.pool(), values);
      session_.write_tensor(id, engine::TensorState::parameter, values);
    }
  }
  device::CpuDevice cpu_{1};
  comm::SoloCommunicator solo_;
  engine::Session session_;
};

TEST_F(GeneratorTest, GivesTheSameAnswerWhateverWasGeneratedBefore) {
  Generator generator(session_, {.temperature = 1}, 29);
  const std::vector<int32_t> prompt = {3, 1, 4};
  const auto first = generator.continue_prompt(prompt, 6, 0, -1, {});
  const auto other = generator.continue_prompt(std::vector<int32_t>{7}, 10, 1, -1, {});
  EXPECT_EQ(generator.continue_prompt(prompt, 6, 0, -1, {}), first);
  EXPECT_EQ(first.size(), 6U);
  EXPECT_NE(generator.continue_prompt(prompt, 6, 2, -1, {}), first);
}

TEST_F(GeneratorTest, ContinuesAContinuationAsIfInOneGo) {
  Generator generator(session_, {.temperature = 0}, 29);
  const auto whole = generator.continue_prompt(std::vector<int32_t>{5, 6}, 8, 0, -1, {});
  std::vector<int32_t> longer = {5, 6};
  longer.insert(longer.end(), whole.begin(), whole.begin() + 4);
  const auto rest = generator.continue_prompt(longer, 4, 0, -1, {});
  EXPECT_EQ(rest, std::vector<int32_t>(whole.begin() + 4, whole.end()));
}

TEST_F(GeneratorTest, StopsAtTheStopToken) {
  Generator generator(session_, {.temperature = 0}, 29);
  const auto free = generator.continue_prompt(std::vector<int32_t>{5}, 11, 0, -1, {});
  EXPECT_EQ(free.size(), 11U);
  int streamed = 0;
  const auto stopped = generator.continue_prompt(std::vector<int32_t>{5}, 11, 0, free[3],
                                                 [&](int32_t) { ++streamed; });
  EXPECT_LE(stopped.size(), 3U);
  EXPECT_EQ(static_cast<size_t>(streamed), stopped.size());
}

TEST_F(GeneratorTest, ChoosesWordsOnly) {
  Generator generator(session_, {.temperature = 5}, 7);
  for (int64_t sample = 0; sample < 20; ++sample) {
    for (const int32_t token :
         generator.continue_prompt(std::vector<int32_t>{5}, 11, sample, -1, {})) {
      EXPECT_LT(token, 7);
    }
  }
}

TEST_F(GeneratorTest, RefusesPromptsThatCannotBe) {
  Generator generator(session_, {}, 29);
  EXPECT_THROW(generator.continue_prompt({}, 1, 0, -1, {}), Error);
  EXPECT_THROW(generator.continue_prompt(std::vector<int32_t>(12, 1), 1, 0, -1, {}), Error);
  EXPECT_THROW(generator.continue_prompt(std::vector<int32_t>{29}, 1, 0, -1, {}), Error);
  EXPECT_THROW(generator.continue_prompt(std::vector<int32_t>{5}, 12, 0, -1, {}), Error);
}

}  // namespace
}  // namespace trireme::generate
