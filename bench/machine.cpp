#include "bench/machine.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "ops/cpu/peak.h"

namespace trireme::bench {
namespace {

constexpr int64_t kCopyBytes = 256 << 20;
constexpr int kCopies = 7;
// Blocks so small that the C library copies them with ordinary stores, as kernels do.
constexpr int64_t kBlockBytes = 64 << 10;

double copy_bandwidth(ThreadPool& pool) {
  std::vector<std::byte> from(kCopyBytes, std::byte{1});
  std::vector<std::byte> to(kCopyBytes);
  double best = 0;
  for (int copy = 0; copy < kCopies; ++copy) {
    const auto begin = std::chrono::steady_clock::now();
    pool.parallel_for(kCopyBytes / kBlockBytes, [&](int64_t block, int) {
      std::memcpy(to.data() + block * kBlockBytes, from.data() + block * kBlockBytes, kBlockBytes);
    });
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    best = std::max(best, 2.0 * static_cast<double>(kCopyBytes) / seconds.count());
  }
  return best;
}

}  // namespace

Machine measure_machine(ThreadPool& pool) {
  return {.fma_rate = ops::cpu::measured_fma_rate(pool, 1.0),
          .copy_bandwidth = copy_bandwidth(pool)};
}

void print(const Machine& machine, int threads) {
  std::printf("%d thread%s: FMA loop %.1f GFLOP/s, copy %.1f GB/s\n", threads,
              threads == 1 ? "" : "s", machine.fma_rate / 1e9, machine.copy_bandwidth / 1e9);
}

}  // namespace trireme::bench
