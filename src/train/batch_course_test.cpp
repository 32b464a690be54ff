#include "train/batch_course.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace trireme::train {
namespace {

// What counting batch by batch gives.
int64_t counted_iterations(const BatchCourse& course, int64_t samples) {
  int64_t iterations = 0;
  for (int64_t consumed = 0; consumed + course.at(consumed) <= samples; ++iterations)
    consumed += course.at(consumed);
  return iterations;
}

int64_t counted_samples(const BatchCourse& course, int64_t iterations) {
  int64_t consumed = 0;
  for (int64_t i = 0; i < iterations; ++i) consumed += course.at(consumed);
  return consumed;
}

std::string refusal(std::string_view text) {
  try {
    static_cast<void>(BatchCourse::steps(text, 10));
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_status(), 2);
    return error.what();
  }
}

TEST(BatchCourse, GrowsEvenlyAsMegatronsRampUpDoes) {
  const BatchCourse course = BatchCourse::ramp_up(16, 8, 3000, 40);  // three increments
  for (int64_t consumed = 0; consumed < 4000; ++consumed) {
    // Megatron-LM: start + floor(consumed / (samples / increments)) increment, then the whole.
    const int64_t expected = consumed > 3000 ? 40 : 16 + consumed / 1000 * 8;
    ASSERT_EQ(course.at(consumed), expected) << consumed;
  }
  EXPECT_EQ(course.largest(), 40);
  EXPECT_FALSE(course.is_constant());
}

TEST(BatchCourse, GrowsAsMegatronsDivisionRounds) {
  for (int64_t increments = 1; increments < 40; ++increments) {
    for (int64_t samples = 1; samples < 120; ++samples) {
      const int64_t batch = 8 + 8 * increments;
      const BatchCourse course = BatchCourse::ramp_up(8, 8, samples, batch);
      const double each = static_cast<double>(samples) / static_cast<double>(increments);
      for (int64_t n = 0; n < samples + 3; ++n) {
        const auto steps = static_cast<int64_t>(static_cast<double>(n) / each);
        ASSERT_EQ(course.at(n), n > samples ? batch : 8 + steps * 8)
            << n << " of " << samples << " in " << increments;
      }
    }
  }
}

TEST(BatchCourse, GrowsInStepsAtThresholdsOfTokens) {
  const BatchCourse course = BatchCourse::steps("0:8 1K:16 1.5M:32", 10);
  EXPECT_EQ(course.stages(), (std::vector<BatchCourse::Stage>{{0, 8}, {100, 16}, {150000, 32}}));
  EXPECT_EQ(course.at(99), 8);
  EXPECT_EQ(course.at(100), 16);
  EXPECT_EQ(course.at(int64_t{1} << 39), 32);
  EXPECT_EQ(BatchCourse::steps("0:384 200B:768 400B:1152", 4096).stages()[1].from,
            200'000'000'000 / 4096);
}

TEST(BatchCourse, CountsBatchesAndSamplesAsGoingThroughThemDoes) {
  for (const BatchCourse& course :
       {BatchCourse::constant(5), BatchCourse::ramp_up(2, 2, 50, 12),
        BatchCourse::ramp_up(3, 3, 7, 30), BatchCourse::steps("0:4 70:1 200:9", 10)}) {
    for (int64_t n = 0; n < 150; ++n) {
      ASSERT_EQ(course.iterations_within(n), counted_iterations(course, n)) << n;
      ASSERT_EQ(course.samples_of(n), counted_samples(course, n)) << n;
    }
  }
}

TEST(BatchCourse, RefusesStepsThatAreMalformedOrOutOfOrder) {
  for (const char* text :
       {"", "0", "8", "0:8 5K", "0:0", "0:1.5", "0:8 x:9", "0:8 -5:9", "0:8 9Q:9", "0:8 1e30T:9"}) {
    EXPECT_NE(refusal(text), "") << text;
  }
  EXPECT_NE(refusal("5:8").find("out of order"), std::string::npos);
  EXPECT_NE(refusal("0:8 2K:9 1K:10").find("'1K:10' is out of order"), std::string::npos);
}

TEST(RunCourse, EndsWithTheLastBatchThatFits) {
  config::BatchOptions options = {.micro_batch_size = 2, .global_batch_size = 8};
  options.train_samples = 100;
  EXPECT_EQ(run_course(options, 2, 16).iterations, 12);
  EXPECT_EQ(run_course(options, 2, 16).samples, 100);
  options.train_samples = 7;
  EXPECT_THROW(static_cast<void>(run_course(options, 2, 16)), Error);
  options.train_samples.reset();
  options.train_iters = 3;
  options.global_batch_size.reset();
  EXPECT_EQ(run_course(options, 4, 16).samples, 12);
}

}  // namespace
}  // namespace trireme::train
