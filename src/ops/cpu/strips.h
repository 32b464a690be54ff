#pragma once
#include <cstdint>

namespace trireme::ops::cpu {

/// How the tasks of a matrix product share its output: a strip of packed lines (rows or columns)
/// by a part of the others, the last of each direction smaller.
struct StripCut {
  int64_t strip = 0;  ///< at most program::kProductStrip, whole panels
  int64_t part = 0;
};

/// The cut with the least estimated time. Wide strips and large parts pack and read less; many
/// tasks keep the threads busy. others = 0: only the packed lines are cut. Does not change bits.
[[nodiscard]] StripCut cut_strips(int64_t packed, int64_t others, int threads);

}  // namespace trireme::ops::cpu
