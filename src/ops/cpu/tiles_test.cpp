#include "ops/cpu/tiles.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace trireme::ops::cpu {
namespace {

TEST(TileGrid, CoversTheOutputWithNoEmptyTile) {
  for (const int64_t rows : {1, 7, 8, 64, 100, 1023, 2048}) {
    for (const int64_t columns : {1, 47, 48, 256, 768, 2304, 50304}) {
      for (const int64_t terms : {1, 64, 768, 3072}) {
        const TileGrid grid = tile_grid(rows, columns, terms);
        EXPECT_LT((grid.rows - 1) * grid.tile_rows, rows);
        EXPECT_GE(grid.rows * grid.tile_rows, rows);
        EXPECT_LT((grid.columns - 1) * grid.tile_columns, columns);
        EXPECT_GE(grid.columns * grid.tile_columns, columns);
      }
    }
  }
}

TEST(TileGrid, LeavesOneTileWholeWhereCuttingCostsMoreThanItGains) {
  EXPECT_EQ(tile_grid(8, 64, 64).tiles(), 1);
}

TEST(TileGrid, KeepsTwoToFourThreadsBusyOnTheProductsOfAGpt) {
  for (const int64_t tokens : {512, 1024, 2048}) {
    for (const int64_t hidden : {256, 384, 768, 1024}) {
      for (const int64_t factor : {1, 3, 4}) {
        for (const TileGrid& grid : {tile_grid(tokens, factor * hidden, hidden),
                                     tile_grid(tokens, hidden, factor * hidden),
                                     tile_grid(factor * hidden, hidden, tokens)}) {
          for (const int64_t threads : {2, 3, 4}) {
            // What a thread at most does, beside its even share of the output.
            const int64_t rounds = (grid.tiles() + threads - 1) / threads;
            const double most =
                static_cast<double>(rounds * threads) / static_cast<double>(grid.tiles());
            EXPECT_LE(most, 1.34) << tokens << " tokens, h " << hidden << " x " << factor;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace trireme::ops::cpu
