#pragma once
#include <algorithm>
#include <cstdint>

#include "device/cpu/cpu_device.h"

namespace trireme::ops::cpu {

/// Elements that one task of an elementwise kernel covers: some microseconds of work, more than a
/// task costs.
inline constexpr int64_t kBlockElements = 16384;

/// Rows of so many columns that one task covers.
[[nodiscard]] constexpr int64_t rows_per_block(int64_t columns) {
  return std::max<int64_t>(1, kBlockElements / std::max<int64_t>(1, columns));
}

[[nodiscard]] inline ThreadPool& pool_of(device::Stream& stream) {
  return static_cast<device::CpuStream&>(stream).pool();
}

/// work(first, last) for the blocks of [0, count), on the stream's threads. The cut depends on the
/// sizes alone, so the number of threads never changes bits.
template <class Work>
void over_blocks(device::Stream& stream, int64_t count, int64_t block, const Work& work) {
  pool_of(stream).parallel_for((count + block - 1) / block, [&](int64_t index, int) {
    work(index * block, std::min(count, (index + 1) * block));
  });
}

}  // namespace trireme::ops::cpu
