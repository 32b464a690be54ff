#include <gtest/gtest.h>

#include "ops/reference/wide_op.h"

namespace trireme::ops::reference {
namespace {

using program::BiasGradient;
using program::Product;
using program::ProductInputGradient;
using program::ProductWeightGradient;

TEST(Product, MultipliesByTheTransposedWeightAndAddsTheBias) {
  WideOp product({.op = Product{.rows = 2, .in = 3, .out = 2, .bias = true}});
  product[Product::kX] = {1, 2, 3, 4, 5, 6};
  product[Product::kW] = {1, 0, -1, 2, 1, 0};
  product[Product::kBias] = {10, 20};
  product.run();
  EXPECT_EQ(product[Product::kY], (std::vector<double>{8, 24, 8, 33}));
}

TEST(ProductGradients, EqualFiniteDifferences) {
  const Product op{.rows = 5, .in = 7, .out = 6, .bias = true};
  WideOp forward({.op = op});
  const std::vector<double> weights = loss_weights(30);
  const auto loss = [&] {
    forward.run();
    return weighted_sum(weights, forward[Product::kY]);
  };

  WideOp dx({.op = ProductInputGradient{.rows = 5, .in = 7, .out = 6}});
  dx[ProductInputGradient::kDy] = weights;
  dx[ProductInputGradient::kW] = forward[Product::kW];
  dx.run();
  expect_gradient(dx[ProductInputGradient::kDx], numerical_gradient(forward[Product::kX], loss),
                  "dx");

  WideOp dw({.op = ProductWeightGradient{.rows = 5, .in = 7, .out = 6}});
  dw[ProductWeightGradient::kDy] = weights;
  dw[ProductWeightGradient::kX] = forward[Product::kX];
  dw.run();
  expect_gradient(dw[ProductWeightGradient::kDw], numerical_gradient(forward[Product::kW], loss),
                  "dw");

  WideOp dbias({.op = BiasGradient{.rows = 5, .columns = 6}});
  dbias[BiasGradient::kDy] = weights;
  dbias.run();
  expect_gradient(dbias[BiasGradient::kDbias], numerical_gradient(forward[Product::kBias], loss),
                  "dbias");
}

}  // namespace
}  // namespace trireme::ops::reference
