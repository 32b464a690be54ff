#pragma once
// Every way to cut a tiny model over up to 8 ranks, and in each of them everything else that must
// not matter or that every cut must be able to do.

#include <vector>

#include "parallel_run.h"

namespace trireme::grid {

/// What a case varies besides (p, t, d, v): one level of each factor.
enum class Factor {
  order,           ///< Order
  microbatches,    ///< fewer than p, p + 1, a multiple of p, one
  layers,          ///< balanced; all on the last stages; on every other stage
  model,           ///< forms, sizes and data (parallel_grid.cpp)
  sequences,       ///< b
  scatter_gather,  ///< off, on
  overlap,         ///< on, off
  bucket,          ///< f32 elements: fewest, some tensors' parts, several tensors, everything
  rank_order,      ///< both
  threads,         ///< per rank
};
inline constexpr int kFactors = 10;
inline constexpr std::array<int, kFactors> kLevels = {6, 4, 3, 7, 2, 2, 2, 4, 2, 2};
using Levels = std::array<int, kFactors>;

/// Levels of Factor::order. Where there are several chunks, built_in is the interleaved order.
enum Order {
  built_in,
  grouped,  ///< the interleaved order in groups of another size; otherwise as built_in
  gpipe,
  split,     ///< a user's order: I and W apart, one behind the other
  late,      ///< a user's order: W some actions behind I, more on each rank
  backwards  ///< a user's order: backwards by descending microbatch, so that sums have another
             ///< order
};

struct Case {
  Model model;
  Cut cut;
  Levels levels;
  [[nodiscard]] std::string text() const;
};

struct Size {
  int p = 1;
  int t = 1;
  int d = 1;
  int v = 1;
};

/// All of (p, t, d, v) that fit: p t d ranks, v > 1 where p > 1, p v up to the layers.
[[nodiscard]] std::vector<Size> sizes(int most_ranks);

/// The case of a size at these levels. Levels that a size has no use for (groups of one chunk, say)
/// fall back to the first.
[[nodiscard]] Case make_case(const Size& size, Levels levels);

/// Levels that are spread evenly over everything by a number.
[[nodiscard]] Levels spread(uint32_t number);

/// What a case must have the bits of: the same t, d and batches on one stage, by one order, one
/// thread, and nothing else.
[[nodiscard]] Case one_stage(const Case& one);

}  // namespace trireme::grid
