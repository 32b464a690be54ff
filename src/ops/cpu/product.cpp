#include "ops/cpu/blocks.h"
#include "ops/cpu/cpu.h"
#include "ops/cpu/multiply.h"

namespace trireme::ops::cpu {
namespace {

void product(device::Stream& stream, const program::Product& op, const Arguments& arguments) {
  const Weight w = {.data = arguments.pointer<const float>(op.kW), .in = op.in};
  multiply(pool_of(stream),
           {.rows = op.rows,
            .columns = op.out,
            .terms = op.in,
            .left = {.data = arguments.pointer<const float>(op.kX), .stride = op.in},
            .right = w.forward(),
            .bias = arguments.pointer<const float>(op.kBias),
            .out = arguments.pointer<float>(op.kY)},
           arguments.workspace);
}

void product_input_gradient(device::Stream& stream, const program::ProductInputGradient& op,
                            const Arguments& arguments) {
  const Weight w = {.data = arguments.pointer<const float>(op.kW), .in = op.in};
  multiply(pool_of(stream),
           {.rows = op.rows,
            .columns = op.in,
            .terms = op.out,
            .left = {.data = arguments.pointer<const float>(op.kDy), .stride = op.out},
            .right = w.input_gradient(),
            .out = arguments.pointer<float>(op.kDx)},
           arguments.workspace);
}

void product_weight_gradient(device::Stream& stream, const program::ProductWeightGradient& op,
                             const Arguments& arguments) {
  multiply(
      pool_of(stream),
      {.rows = op.out,
       .columns = op.in,
       .terms = op.rows,
       .left = {.data = arguments.pointer<const float>(op.kDy), .stride = op.out, .by_term = true},
       .right = {.data = arguments.pointer<const float>(op.kX), .stride = op.in, .by_term = true},
       .accumulate = arguments.accumulate,
       .out = arguments.pointer<float>(op.kDw)},
      arguments.workspace);
}

}  // namespace

void add_product(KernelTable& table) {
  entry<program::Product, product>(table);
  entry<program::ProductInputGradient, product_input_gradient>(table);
  entry<program::ProductWeightGradient, product_weight_gradient>(table);
}

}  // namespace trireme::ops::cpu
