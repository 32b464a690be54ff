#pragma once
#include <cstdint>

namespace trireme::ops::cpu {

/// How the threads share the output [rows, columns] of a matrix product: a grid of equal tiles, the
/// last of each direction smaller.
struct TileGrid {
  int64_t tile_rows = 1;
  int64_t tile_columns = 1;
  int64_t rows = 1;     ///< tiles down
  int64_t columns = 1;  ///< tiles across

  [[nodiscard]] int64_t tiles() const { return rows * columns; }
};

/// The grid for a product with so many terms per output element. Depends on the sizes alone: part
/// of the arithmetic, since the library's order of sums may depend on a tile's sizes.
///
/// Large tiles pack their operands seldom, many tiles keep many threads busy: the choice is the
/// least estimated time, averaged over the numbers of threads that a rank usually has.
[[nodiscard]] TileGrid tile_grid(int64_t rows, int64_t columns, int64_t terms);

}  // namespace trireme::ops::cpu
