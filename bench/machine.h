#pragma once
#include "core/thread_pool.h"

namespace trireme::bench {

/// What this machine can do right now with so many threads: what benches hold their numbers
/// against. A shared machine moves by 10% from run to run, so only ratios within one run mean
/// something.
struct Machine {
  double fma_rate = 0;        ///< FLOP/s of the register-only FMA loop
  double copy_bandwidth = 0;  ///< bytes/s read plus written by a copy far larger than the caches
  double read_bandwidth = 0;  ///< bytes/s of adding up as much
};

/// Takes about two seconds.
[[nodiscard]] Machine measure_machine(ThreadPool& pool);

/// One line, as in "2 threads: FMA loop 236.1 GFLOP/s, copy 24.0 GB/s".
void print(const Machine& machine, int threads);

}  // namespace trireme::bench
