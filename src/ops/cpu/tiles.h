#pragma once
#include <cstdint>

namespace trireme::ops::cpu {

/// How the output of a matrix product is cut into tiles, the last of each direction smaller.
struct TileCut {
  int64_t rows = 0;     ///< of a tile: whole groups
  int64_t columns = 0;  ///< of a tile: whole panels, at most program::product_columns()
};

/// The cut with the least estimated time. Large tiles pack and read less; many keep the threads
/// busy. Does not change bits.
[[nodiscard]] TileCut cut_tiles(int64_t rows, int64_t columns, bool rows_are_packed, int threads);

}  // namespace trireme::ops::cpu
