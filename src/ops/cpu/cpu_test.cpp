// The kernels against the reference and against themselves, for every kind of vector unit that this
// processor has.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "ops/cpu/targets.h"
// clang-format off
#include <hwy/highway.h>
// clang-format on

#include "device/cpu/cpu_device.h"
#include "ops/cpu/peak.h"
#include "ops/cpu/turns.h"
#include "ops/testing/case.h"
#include "ops/testing/compare.h"
#include "ops/testing/trial.h"

namespace trireme::ops {
namespace {

testing::Outcome run_with_threads(const testing::Case& c, int threads, int64_t shift = 0) {
  device::CpuDevice device(threads);
  return testing::run(
      c, {.device = &device, .kernels = &cpu_kernels(), .profile = {.threads = threads}}, shift);
}

class CpuKernels : public ::testing::TestWithParam<int64_t> {
 protected:
  void SetUp() override { choose(GetParam()); }
  void TearDown() override { choose(0); }

 private:
  static void choose(int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

TEST_P(CpuKernels, AgreeWithTheReferenceInEveryCase) {
  for (const testing::Case& c : testing::cases_for_tests()) {
    const testing::Comparison comparison =
        testing::compare(c, testing::run_reference(c), run_with_threads(c, 2));
    EXPECT_TRUE(comparison.within) << comparison.text;
  }
}

TEST_P(CpuKernels, GiveTheSameBitsForEveryNumberOfThreads) {
  for (const testing::Case& c : testing::cases_for_tests()) {
    const testing::Outcome one = run_with_threads(c, 1);
    for (const int threads : {2, 3, 5}) {
      const testing::Comparison comparison =
          testing::compare_bits(c, one, run_with_threads(c, threads));
      EXPECT_TRUE(comparison.within) << threads << " threads: " << comparison.text;
    }
  }
}

TEST_P(CpuKernels, GiveTheSameBitsWhereverTheirOperandsLie) {
  for (const testing::Case& c : testing::cases_for_tests()) {
    const testing::Outcome aligned = run_with_threads(c, 2);
    for (const int64_t shift : {1, 5}) {
      const testing::Comparison comparison =
          testing::compare_bits(c, aligned, run_with_threads(c, 2, shift));
      EXPECT_TRUE(comparison.within) << "shifted by " << shift << ": " << comparison.text;
    }
  }
}

TEST_P(CpuKernels, DrawTheRandomFormatPastTheCountersLowerHalf) {
  program::Attention op;
  op.length = 40;
  op.sequences = 1;
  op.heads = 12;
  op.head_dim = 8;
  op.dropout = {.site = RandomSite::attention_dropout, .probability = 0.5};
  // 40 x 10 blocks of numbers per head: 2^32 lies within these heads.
  op.first_head = (int64_t{1} << 32) / 400 - 6;
  const testing::Case c = {.name = "attention of far heads", .op = op, .id_limit = 40, .layer = 3};
  const testing::Comparison comparison =
      testing::compare(c, testing::run_reference(c), run_with_threads(c, 2));
  EXPECT_TRUE(comparison.within) << comparison.text;
}

// Runs an op on operands that the caller fills by name.
template <class Op, class Fill>
testing::HostOperands run_on(const Op& op, const Fill& fill) {
  testing::HostOperands operands(op);
  fill(operands);
  device::CpuDevice device(1);
  const auto stream = device.make_stream();
  const std::vector<void*> addresses = operands.addresses();
  cpu_kernels()[op](*stream, op, {.operands = addresses});
  return operands;
}

TEST_P(CpuKernels, NeverHideANaN) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const program::BiasGelu gelu = {.rows = 1, .columns = 37};
  const auto activations =
      run_on(gelu, [&](testing::HostOperands& in) { in.as<float>(gelu.kX)[20] = nan; });
  for (size_t i = 0; i < 37; ++i) {
    EXPECT_EQ(std::isnan(activations.as<float>(gelu.kY)[i]), i == 20) << i;
  }
  program::LogitSum sum;
  sum.rows = 1;
  sum.columns = sum.counted = 37;
  for (const size_t bad : {0, 20, 36}) {
    const auto sums =
        run_on(sum, [&](testing::HostOperands& in) { in.as<float>(sum.kLogits)[bad] = nan; });
    EXPECT_TRUE(std::isnan(sums.as<float>(sum.kSum)[0])) << bad;
  }
}

TEST_P(CpuKernels, GeluReachesItsLimitsFarOut) {
  const program::BiasGelu op = {.rows = 1, .columns = 4};
  const auto operands = run_on(op, [&](testing::HostOperands& in) {
    const float x[] = {1e4F, -1e4F, 30.0F, -30.0F};
    std::copy(std::begin(x), std::end(x), in.as<float>(op.kX).begin());
  });
  const auto y = operands.as<float>(op.kY);
  EXPECT_EQ(y[0], 1e4F);
  EXPECT_NEAR(y[1], 0, 1e-30);
  EXPECT_EQ(y[2], 30.0F);
  EXPECT_NEAR(y[3], 0, 1e-30);
}

TEST_P(CpuKernels, TakeNoStepWhereTheNormIsNotFinite) {
  const program::ClipFactor clip = {.blocks = 3};
  const auto factor = run_on(clip, [&](testing::HostOperands& in) {
    in.as<double>(clip.kSquares)[1] = std::numeric_limits<double>::infinity();
  });
  EXPECT_EQ(factor.as<float>(clip.kFactor)[0], program::kSkipStep);
  const program::AdamW adam = {.elements = 40, .decay = 0.1};
  const auto state = run_on(adam, [&](testing::HostOperands& in) {
    std::fill_n(in.as<float>(adam.kParameter).begin(), 40, 2.0F);
    std::fill_n(in.as<float>(adam.kGradient).begin(), 40, 1.0F);
    in.as<float>(adam.kFactor)[0] = program::kSkipStep;
    in.as<float>(adam.kRate)[0] = 1;
    in.as<int64_t>(adam.kStep)[0] = 1;
  });
  for (const float x : state.as<float>(adam.kParameter)) EXPECT_EQ(x, 2.0F);
  for (const float m : state.as<float>(adam.kM)) EXPECT_EQ(m, 0.0F);
}

INSTANTIATE_TEST_SUITE_P(Targets, CpuKernels,
                         ::testing::ValuesIn(hwy::SupportedAndGeneratedTargets()),
                         [](const auto& test) { return hwy::TargetName(test.param); });

TEST(Turns, LetTasksAddToEachSumInTheirOrder) {
  constexpr int64_t kSums = 3;
  constexpr int64_t kTasks = 200;
  alignas(64) std::array<std::byte, cpu::Turns::bytes(kSums)> memory;
  memory.fill(std::byte{0xFF});
  cpu::Turns turns(memory.data(), kSums);
  std::array<std::vector<int64_t>, kSums> added;
  ThreadPool pool(4);
  pool.parallel_for(kSums * kTasks, [&](int64_t index, int) {
    const int64_t sum = index % kSums;
    turns.wait(sum, index / kSums);
    added[static_cast<size_t>(sum)].push_back(index / kSums);
    turns.pass_on(sum);
  });
  for (const auto& order : added) {
    ASSERT_EQ(order.size(), static_cast<size_t>(kTasks));
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
  }
}

TEST(FmaPeak, IsPlausible) {
  ThreadPool pool(2);
  const double rate = cpu::measured_fma_rate(pool, 0.02);
  EXPECT_GT(rate, 1e8);
  EXPECT_LT(rate, 2 * 64 * 8e9);  // two threads, two units of 16 lanes at 8 GHz
}

}  // namespace
}  // namespace trireme::ops
