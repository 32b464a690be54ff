#include "ops/cpu/peak.h"

#include <algorithm>
#include <atomic>
#include <chrono>

#include "ops/cpu/targets.h"
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/cpu/peak.cpp"
#include <hwy/foreach_target.h>
#include "ops/cpu/vector_inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace trireme::ops::cpu {
namespace HWY_NAMESPACE {

// Two units of latency 4 or 5 are busy with ten chains of additions or more; before AVX-512 there
// are 16 registers.
constexpr int kChains = 12;

// Runs steps x kChains multiply-adds and returns their floating-point operations. The sums start at
// different values and leave through `sink`, so that nothing is left out.
double multiply_add(int64_t steps, float start, float* sink) {
  FloatVector sums[kChains];
  for (int chain = 0; chain < kChains; ++chain) {
    sums[chain] = hn::Set(kFloats, start * static_cast<float>(chain + 1));
  }
  const FloatVector factor = hn::Set(kFloats, 0.5F * start);  // sums tend to 2
  const FloatVector term = hn::Set(kFloats, start);
  for (int64_t step = 0; step < steps; ++step) {
    for (int chain = 0; chain < kChains; ++chain) {
      sums[chain] = hn::MulAdd(sums[chain], factor, term);
    }
  }
  FloatVector sum = sums[0];
  for (int chain = 1; chain < kChains; ++chain) sum = hn::Add(sum, sums[chain]);
  *sink = hn::GetLane(hn::SumOfLanes(kFloats, sum));
  return 2.0 * static_cast<double>(steps) * kChains * static_cast<double>(kLanes);
}

}  // namespace HWY_NAMESPACE
}  // namespace trireme::ops::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trireme::ops::cpu {
namespace {

HWY_EXPORT(multiply_add);

constexpr int kSlices = 5;
constexpr int64_t kSteps = 20000;  // of one call: some 100 microseconds

using Clock = std::chrono::steady_clock;

double slice_rate(ThreadPool& pool, double seconds) {
  const volatile float one = 1;  // so that the compiler cannot know it
  std::atomic<double> operations = 0;
  const auto begin = Clock::now();
  const auto deadline = begin + std::chrono::duration<double>(seconds);
  pool.parallel_for(pool.threads(), [&](int64_t, int) {
    double done = 0;
    float start = one;
    while (Clock::now() < deadline) {
      float sink = 0;
      done += HWY_DYNAMIC_DISPATCH(multiply_add)(kSteps, start, &sink);
      start = sink > 0 ? 1.0F : 0.0F;  // each call needs the one before
    }
    operations.fetch_add(done);
  });
  return operations / std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

double measured_fma_rate(ThreadPool& pool, double seconds) {
  double best = 0;
  for (int slice = 0; slice < kSlices; ++slice) {
    best = std::max(best, slice_rate(pool, seconds / kSlices));
  }
  return best;
}

}  // namespace trireme::ops::cpu
#endif
