#include "train/learning_rate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"

namespace trireme::train {
namespace {

using config::LrDecayStyle;
using config::WsdDecayStyle;

TEST(LearningRate, WarmsUpFromItsInitialValueAndEndsAtTheLeast) {
  const LearningRate rate = {.style = LrDecayStyle::cosine,
                             .most = 1e-3,
                             .least = 1e-4,
                             .warmup_samples = 100,
                             .decay_samples = 1100};
  EXPECT_DOUBLE_EQ(rate.at(0), 0);  // Megatron-LM's first update
  EXPECT_DOUBLE_EQ(rate.at(50), 5e-4);
  EXPECT_DOUBLE_EQ(rate.at(100), 1e-3);
  EXPECT_DOUBLE_EQ(rate.at(600), 5.5e-4);  // half way: the mean
  EXPECT_DOUBLE_EQ(rate.at(1100), 1e-4);
  EXPECT_DOUBLE_EQ(rate.at(5000), 1e-4);
}

TEST(LearningRate, OfEachStyleNeverRisesBehindTheWarmUp) {
  for (const auto style : {LrDecayStyle::constant, LrDecayStyle::linear, LrDecayStyle::cosine}) {
    const LearningRate rate = {
        .style = style, .most = 1, .least = 0.1, .warmup_samples = 10, .decay_samples = 200};
    for (int n = 11; n < 300; ++n) EXPECT_LE(rate.at(n), rate.at(n - 1)) << n;
    for (int n = 1; n <= 10; ++n) EXPECT_GT(rate.at(n), rate.at(n - 1)) << n;
  }
}

TEST(LearningRate, CountsInSamplesAsTheOptionsSay) {
  config::OptimizerOptions options;
  options.lr = 1;
  options.lr_warmup_fraction = 0.1;
  const RunCourse course = {BatchCourse::constant(8), 500, 4000};
  const LearningRate rate = learning_rate(options, course);
  EXPECT_EQ(rate.decay_samples, 4000);
  EXPECT_EQ(rate.warmup_samples, 400);
  options.lr_warmup_fraction.reset();
  options.lr_warmup_iters = 20;
  options.lr_decay_iters = 100;
  EXPECT_EQ(learning_rate(options, course).warmup_samples, 160);
  EXPECT_EQ(learning_rate(options, course).decay_samples, 800);
}

TEST(LearningRate, OfInverseSquareRootFallsByTheRootBehindTheWarmUpAndNotBelowTheLeast) {
  const LearningRate rate = {.style = LrDecayStyle::inverse_square_root,
                             .most = 1e-3,
                             .least = 1e-4,
                             .warmup_samples = 100,
                             .decay_samples = 100000};
  EXPECT_DOUBLE_EQ(rate.at(100), 1e-3);
  EXPECT_DOUBLE_EQ(rate.at(400), 5e-4);
  EXPECT_DOUBLE_EQ(rate.at(90000), 1e-4);
  EXPECT_DOUBLE_EQ(rate.at(200000), 1e-4);
  const LearningRate cold = {
      .style = LrDecayStyle::inverse_square_root, .most = 1, .decay_samples = 99};
  EXPECT_DOUBLE_EQ(cold.at(0), 1);  // Megatron-LM counts from 1
  EXPECT_DOUBLE_EQ(cold.at(4), 0.5);
}

TEST(LearningRate, OfWsdIsFlatAndThenFallsByItsOwnStyle) {
  LearningRate rate = {.style = LrDecayStyle::wsd,
                       .most = 1,
                       .least = 0.1,
                       .warmup_samples = 100,
                       .decay_samples = 1000,
                       .wsd_samples = 200};
  const auto half_way = [&](WsdDecayStyle style) {
    rate.wsd_style = style;
    EXPECT_DOUBLE_EQ(rate.at(101), 1);
    EXPECT_DOUBLE_EQ(rate.at(800), 1);
    EXPECT_LT(rate.at(801), 1);
    EXPECT_NEAR(rate.at(1000), 0.1, 1e-15);
    EXPECT_DOUBLE_EQ(rate.at(1001), 0.1);
    return (rate.at(900) - 0.1) / 0.9;
  };
  EXPECT_NEAR(half_way(WsdDecayStyle::linear), 0.5, 1e-15);
  EXPECT_NEAR(half_way(WsdDecayStyle::cosine), 0.5, 1e-15);
  EXPECT_NEAR(half_way(WsdDecayStyle::exponential), 2 * std::sqrt(0.5) - 1, 1e-15);
  EXPECT_NEAR(half_way(WsdDecayStyle::minus_sqrt), 1 - std::sqrt(0.5), 1e-15);
}

TEST(LearningRate, CountsIterationsAsTheSamplesOfAGrowingBatch) {
  config::OptimizerOptions options;
  options.lr = 1;
  options.lr_warmup_iters = 3;
  const BatchCourse growing = BatchCourse::ramp_up(2, 2, 8, 6);  // 2 2 4 6 6 ...
  const RunCourse course = {growing, 10, growing.samples_of(10)};
  EXPECT_EQ(learning_rate(options, course).warmup_samples, 8);
  EXPECT_EQ(learning_rate(options, course).decay_samples, course.samples);
  options.lr_warmup_iters = 0;
  options.lr_warmup_samples = 7;
  options.lr_decay_samples = 40;
  EXPECT_EQ(learning_rate(options, course).warmup_samples, 7);
  EXPECT_EQ(learning_rate(options, course).decay_samples, 40);
}

TEST(LearningRate, RefusesAWarmUpLongerThanTheDecay) {
  config::OptimizerOptions options;
  options.lr = 1;
  options.lr_warmup_iters = 20;
  EXPECT_THROW(static_cast<void>(learning_rate(options, {BatchCourse::constant(4), 10, 40})),
               Error);
}

}  // namespace
}  // namespace trireme::train
