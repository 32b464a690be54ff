#include "ops/cpu/cpu.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "device/cpu/cpu_device.h"
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

TEST(CpuKernels, AgreeWithTheReferenceInEveryCase) {
  for (const testing::Case& c : testing::cases_for_tests()) {
    const testing::Comparison comparison =
        testing::compare(c, testing::run_reference(c), run_with_threads(c, 2));
    EXPECT_TRUE(comparison.within) << comparison.text;
  }
}

TEST(CpuKernels, GiveTheSameBitsForEveryNumberOfThreads) {
  for (const testing::Case& c : testing::cases_for_tests()) {
    const testing::Outcome one = run_with_threads(c, 1);
    for (const int threads : {2, 3, 5}) {
      const testing::Comparison comparison =
          testing::compare_bits(c, one, run_with_threads(c, threads));
      EXPECT_TRUE(comparison.within) << threads << " threads: " << comparison.text;
    }
  }
}

TEST(CpuKernels, GiveTheSameBitsWhereverTheirOperandsLie) {
  for (const testing::Case& c : testing::cases_for_tests()) {
    const testing::Outcome aligned = run_with_threads(c, 2);
    for (const int64_t shift : {1, 5}) {
      const testing::Comparison comparison =
          testing::compare_bits(c, aligned, run_with_threads(c, 2, shift));
      EXPECT_TRUE(comparison.within) << "shifted by " << shift << ": " << comparison.text;
    }
  }
}

}  // namespace
}  // namespace trireme::ops
