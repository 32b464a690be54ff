#include <algorithm>
#include <cstring>

#include "ops/cpu/blocks.h"
#include "ops/cpu/cpu.h"
#include "ops/cpu/sgemm.h"
#include "ops/cpu/tiles.h"

namespace trireme::ops::cpu {
namespace {

struct Tile {
  int64_t row, column, rows, columns;
};

// Runs compute(tile) for the tiles of an output [rows, columns] on the stream's threads.
template <class Compute>
void over_tiles(device::Stream& stream, int64_t rows, int64_t columns, int64_t terms,
                const Compute& compute) {
  const TileGrid grid = tile_grid(rows, columns, terms);
  pool_of(stream).parallel_for(grid.tiles(), [&](int64_t index, int) {
    const int64_t row = index / grid.columns * grid.tile_rows;
    const int64_t column = index % grid.columns * grid.tile_columns;
    compute(Tile{row, column, std::min(grid.tile_rows, rows - row),
                 std::min(grid.tile_columns, columns - column)});
  });
}

void product(device::Stream& stream, const program::Product& op, const Arguments& arguments) {
  const auto* x = arguments.pointer<const float>(op.kX);
  const auto* w = arguments.pointer<const float>(op.kW);
  const auto* bias = arguments.pointer<const float>(op.kBias);
  auto* y = arguments.pointer<float>(op.kY);
  over_tiles(stream, op.rows, op.out, op.in, [&](const Tile& tile) {
    float* out = y + tile.row * op.out + tile.column;
    if (op.bias) {
      for (int64_t row = 0; row < tile.rows; ++row) {
        std::memcpy(out + row * op.out, bias + tile.column,
                    static_cast<size_t>(tile.columns) * sizeof(float));
      }
    }
    sgemm({.rows = tile.rows, .columns = tile.columns, .terms = op.in},
          {.data = x + tile.row * op.in, .stride = op.in},
          {.data = w + tile.column * op.in, .stride = op.in, .transposed = true}, op.bias, out,
          op.out);
  });
}

void product_input_gradient(device::Stream& stream, const program::ProductInputGradient& op,
                            const Arguments& arguments) {
  const auto* dy = arguments.pointer<const float>(op.kDy);
  const auto* w = arguments.pointer<const float>(op.kW);
  auto* dx = arguments.pointer<float>(op.kDx);
  over_tiles(stream, op.rows, op.in, op.out, [&](const Tile& tile) {
    sgemm({.rows = tile.rows, .columns = tile.columns, .terms = op.out},
          {.data = dy + tile.row * op.out, .stride = op.out},
          {.data = w + tile.column, .stride = op.in}, false, dx + tile.row * op.in + tile.column,
          op.in);
  });
}

void product_weight_gradient(device::Stream& stream, const program::ProductWeightGradient& op,
                             const Arguments& arguments) {
  const auto* dy = arguments.pointer<const float>(op.kDy);
  const auto* x = arguments.pointer<const float>(op.kX);
  auto* dw = arguments.pointer<float>(op.kDw);
  over_tiles(stream, op.out, op.in, op.rows, [&](const Tile& tile) {
    sgemm({.rows = tile.rows, .columns = tile.columns, .terms = op.rows},
          {.data = dy + tile.row, .stride = op.out, .transposed = true},
          {.data = x + tile.column, .stride = op.in}, arguments.accumulate,
          dw + tile.row * op.in + tile.column, op.in);
  });
}

}  // namespace

void add_product(KernelTable& table) {
  entry<program::Product, product>(table);
  entry<program::ProductInputGradient, product_input_gradient>(table);
  entry<program::ProductWeightGradient, product_weight_gradient>(table);
}

}  // namespace trireme::ops::cpu
