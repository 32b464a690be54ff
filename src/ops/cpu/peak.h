#pragma once
#include "core/thread_pool.h"

namespace trireme::ops::cpu {

/// Floating-point operations per second of all threads of the pool together in a loop of fused
/// multiply-adds on registers, in f32, with the widest vectors of this processor: the peak that MFU
/// on a CPU refers to. Not a matrix product: no memory is touched.
///
/// Takes so many seconds; the best of five slices counts, since whatever else runs on the machine
/// can only make one slower.
[[nodiscard]] double measured_fma_rate(ThreadPool& pool, double seconds);

}  // namespace trireme::ops::cpu
