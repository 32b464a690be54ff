#include "model/blocks.h"

namespace trireme::model {

using namespace program;

Block mlp_block(const Sizes& z) {
  const int64_t n = z.rows();
  const int64_t f = z.local_ffn;  // 4 h / t
  const Dropout dropout = {.site = RandomSite::mlp_dropout, .probability = z.hidden_dropout};
  BlockBuilder block("mlp");

  const auto gamma = block.weight("pre_mlp_layernorm.weight", {z.h});
  const auto beta = block.weight("pre_mlp_layernorm.bias", {z.h});
  const auto w1 = block.weight("mlp.linear_fc1.weight", {f, z.h});
  const auto b1 = block.weight("mlp.linear_fc1.bias", {f});
  const auto w2 = block.weight("mlp.linear_fc2.weight", {z.h, f});
  const auto b2 = block.weight("mlp.linear_fc2.bias", {z.h});
  const int samples = block.field(BatchField::samples, {z.b});
  const int seed = block.scalar(StepScalar::seed);
  const int x = block.flow("x", z.hidden_shape());
  const int y = block.flow("y", z.hidden_shape());
  const int u = block.local("u", z.hidden_shape());
  const int mean = block.local("mean", {n});
  const int rstd = block.local("rstd", {n});
  const int a = block.local("a", {z.s, z.b, f});
  const int g = block.local("g", {z.s, z.b, f});
  const int o = block.local("o", z.hidden_shape());

  // forward
  block.forward(LayerNorm{.rows = n, .columns = z.h, .epsilon = z.epsilon},
                {x, gamma.value, beta.value, u, mean, rstd});
  block.forward(Product{.rows = n, .in = z.h, .out = f}, {u, w1.value, kNoValue, a});
  block.forward(BiasGelu{.rows = n, .columns = f}, {a, b1.value, g});
  block.forward(Product{.rows = n, .in = f, .out = z.h}, {g, w2.value, kNoValue, o});
  g_forward(block, z, o, n * z.h);
  block.forward(BiasDropoutAdd{.length = z.s, .sequences = z.b, .hidden = z.h, .dropout = dropout},
                {o, b2.value, x, samples, seed, y});
  if (!z.trains()) return block.take();

  // backward
  const int dy = block.flow("dy", z.hidden_shape());
  const int dx = block.flow("dx", z.hidden_shape());
  const int d_o = block.local("do", z.hidden_shape());
  const int dg = block.local("dg", {z.s, z.b, f});  // becomes da in place
  const int du = block.local("du", z.hidden_shape());
  const int u_again = block.local("u'", z.hidden_shape());
  block.input_gradient(
      DropoutBackward{.length = z.s, .sequences = z.b, .hidden = z.h, .dropout = dropout},
      {dy, samples, seed, d_o});
  block.weight_gradient(BiasGradient{.rows = n, .columns = z.h}, {d_o, b2.gradient});
  block.input_gradient(ProductInputGradient{.rows = n, .in = f, .out = z.h}, {d_o, w2.value, dg});
  block.input_gradient(BiasGeluBackward{.rows = n, .columns = f}, {dg, a, b1.value, dg});
  block.weight_gradient(BiasGelu{.rows = n, .columns = f}, {a, b1.value, a});  // g, not saved
  block.weight_gradient(ProductWeightGradient{.rows = n, .in = f, .out = z.h},
                        {d_o, a, w2.gradient});
  block.input_gradient(ProductInputGradient{.rows = n, .in = z.h, .out = f}, {dg, w1.value, du});
  f_backward_start(block, z, du, n * z.h);
  block.weight_gradient(LayerNormOutput{.rows = n, .columns = z.h},
                        {x, gamma.value, beta.value, mean, rstd, u_again});
  block.weight_gradient(ProductWeightGradient{.rows = n, .in = z.h, .out = f},
                        {dg, u_again, w1.gradient});
  block.weight_gradient(BiasGradient{.rows = n, .columns = f}, {dg, b1.gradient});
  f_backward_wait(block, z, du, n * z.h);
  block.input_gradient(LayerNormBackward{.rows = n, .columns = z.h},
                       {du, x, gamma.value, mean, rstd, dy, dx});
  block.weight_gradient(LayerNormGradient{.rows = n, .columns = z.h},
                        {du, x, mean, rstd, gamma.gradient, beta.gradient});
  return block.take();
}

}  // namespace trireme::model
