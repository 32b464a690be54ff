#include "ops/cpu/tiles.h"

#include <algorithm>

#include "program/op/product.h"

namespace trireme::ops::cpu {
namespace {

// What a tile costs beside its multiply-adds, per term and row or column, in multiply-adds of one
// core's full rate (60 of them take a nanosecond). Measured on Zen 4.
constexpr double kPackingCost = 40;
constexpr double kReadingCost = 4;  // rows in place, which come from a farther cache for each tile
// How much of a tile the last thread ends behind the others.
constexpr double kLateness = 0.05;
constexpr int64_t kMostParts = 64;

int64_t pieces(int64_t extent, int64_t piece) {
  return (extent + piece - 1) / piece;
}

// Parts of an extent, in whole steps.
int64_t part_of(int64_t extent, int64_t parts, int64_t step) {
  return pieces(pieces(extent, parts), step) * step;
}

}  // namespace

TileCut cut_tiles(int64_t rows, int64_t columns, bool rows_are_packed, int threads) {
  const double row_cost = rows_are_packed ? kPackingCost : kReadingCost;
  TileCut best;
  double best_cost = 0;
  for (int64_t down = 1; down <= kMostParts; ++down) {
    const int64_t tall = part_of(rows, down, program::kProductGroup);
    for (int64_t wide = program::kProductPanel; wide <= program::product_columns(rows_are_packed);
         wide += program::kProductPanel) {
      const int64_t tiles = pieces(rows, tall) * pieces(columns, wide);
      const auto rounds = static_cast<double>(pieces(tiles, threads));
      const auto m = static_cast<double>(std::min(tall, rows));
      const auto n = static_cast<double>(std::min(wide, columns));
      const double tile = m * n + kPackingCost * n + row_cost * m;
      const double cost = (rounds + kLateness) * tile;
      if (best_cost == 0 || cost < best_cost) {
        best_cost = cost;
        best = {.rows = tall, .columns = wide};
      }
    }
  }
  return best;
}

}  // namespace trireme::ops::cpu
