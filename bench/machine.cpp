#include "bench/machine.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <vector>

#include "core/error.h"
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

double read_bandwidth(ThreadPool& pool) {
  const std::vector<uint64_t> from(kCopyBytes / sizeof(uint64_t), 1);
  constexpr int64_t kBlock = kBlockBytes / sizeof(uint64_t);
  double best = 0;
  for (int turn = 0; turn < kCopies; ++turn) {
    std::atomic<uint64_t> total = 0;
    const auto begin = std::chrono::steady_clock::now();
    pool.parallel_for(kCopyBytes / kBlockBytes, [&](int64_t block, int) {
      // Eight sums become vectors of them.
      std::array<uint64_t, 8> sums = {};
      for (int64_t i = 0; i < kBlock; i += 8) {
        for (size_t k = 0; k < 8; ++k) sums[k] += from[static_cast<size_t>(block * kBlock + i) + k];
      }
      total += std::accumulate(sums.begin(), sums.end(), uint64_t{0});
    });
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    TRIREME_ASSERT(total == from.size(), "everything was read");
    best = std::max(best, static_cast<double>(kCopyBytes) / seconds.count());
  }
  return best;
}

}  // namespace

Machine measure_machine(ThreadPool& pool) {
  return {.fma_rate = ops::cpu::measured_fma_rate(pool, 1.0),
          .copy_bandwidth = copy_bandwidth(pool),
          .read_bandwidth = read_bandwidth(pool)};
}

void print(const Machine& machine, int threads) {
  std::printf("%d thread%s: FMA loop %.1f GFLOP/s, copy %.1f GB/s, read %.1f GB/s\n", threads,
              threads == 1 ? "" : "s", machine.fma_rate / 1e9, machine.copy_bandwidth / 1e9,
              machine.read_bandwidth / 1e9);
}

}  // namespace trireme::bench
