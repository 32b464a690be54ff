#include "ops/cpu/tiles.h"

#include <algorithm>
#include <array>

namespace trireme::ops::cpu {
namespace {

// What a product costs, in multiply-adds of one core's full rate (60 of them take a nanosecond).
// Measured with oneDNN 2.6 on AVX-512, tiles of 96 to 1024 in each direction, 768 to 3072 terms.
constexpr double kPackingCost = 12;  // per term and row, and per term and column, of a tile
constexpr double kCallCost = 5e5;    // per tile

// A column of the output is a lane of the library's kernel, so tiles are whole vectors wide; its
// blocks of rows are shorter.
constexpr int64_t kRowStep = 8;
constexpr int64_t kColumnStep = 48;

constexpr std::array<int, 6> kThreads = {1, 2, 3, 4, 6, 8};
constexpr std::array<int64_t, 12> kTiles = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64};

int64_t cut(int64_t extent, int64_t parts, int64_t step) {
  const int64_t part = (extent + parts - 1) / parts;
  return std::min(extent, (part + step - 1) / step * step);
}

}  // namespace

TileGrid tile_grid(int64_t rows, int64_t columns, int64_t terms) {
  TileGrid best;
  double best_cost = 0;
  for (const int64_t tiles : kTiles) {
    for (const int64_t down : kTiles) {
      if (tiles % down != 0) continue;
      TileGrid grid;
      grid.tile_rows = cut(rows, down, kRowStep);
      grid.tile_columns = cut(columns, tiles / down, kColumnStep);
      grid.rows = (rows + grid.tile_rows - 1) / grid.tile_rows;
      grid.columns = (columns + grid.tile_columns - 1) / grid.tile_columns;
      const auto m = static_cast<double>(grid.tile_rows);
      const auto n = static_cast<double>(grid.tile_columns);
      const double tile = static_cast<double>(terms) * (m * n + kPackingCost * (m + n)) + kCallCost;
      double cost = 0;
      for (const int threads : kThreads) {
        cost += tile * static_cast<double>((grid.tiles() + threads - 1) / threads * threads);
      }
      if (best_cost == 0 || cost < best_cost) {
        best_cost = cost;
        best = grid;
      }
    }
  }
  return best;
}

}  // namespace trireme::ops::cpu
