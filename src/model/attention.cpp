#include "model/blocks.h"

namespace trireme::model {

using namespace program;

namespace {

// Scores, softmax and context over this rank's heads, each mode in its own way.
AttentionSizes attention_sizes(const Sizes& z) {
  return {.length = z.s,
          .sequences = z.b,
          .heads = z.local_heads,
          .first_head = z.first_head,
          .head_dim = z.head_dim,
          .dropout = {.site = RandomSite::attention_dropout, .probability = z.attention_dropout}};
}

}  // namespace

Block attention_block(const Sizes& z) {
  const int64_t n = z.rows();
  const int64_t local = z.local_heads * z.head_dim;  // h / t
  const Dropout dropout = {.site = RandomSite::projection_dropout, .probability = z.hidden_dropout};
  BlockBuilder block("attention");

  const auto gamma = block.weight("input_layernorm.weight", {z.h});
  const auto beta = block.weight("input_layernorm.bias", {z.h});
  const auto w_qkv = block.weight("self_attention.linear_qkv.weight", {3 * local, z.h});
  const auto b_qkv = block.weight("self_attention.linear_qkv.bias", {3 * local});
  const auto w_proj = block.weight("self_attention.linear_proj.weight", {z.h, local});
  const auto b_proj = block.weight("self_attention.linear_proj.bias", {z.h});
  const int samples = block.field(BatchField::samples, {z.b});
  const int seed = block.scalar(StepScalar::seed);
  const int x = block.flow("x", z.hidden_shape());
  const int y = block.flow("y", z.hidden_shape());
  const int u = block.local("u", z.hidden_shape());
  const int mean = block.local("mean", {n});
  const int rstd = block.local("rstd", {n});
  const int qkv = block.local("qkv", {z.s, z.b, 3 * local});
  const int context = block.local("context", {z.s, z.b, local});
  const int o = block.local("o", z.hidden_shape());

  // forward
  block.forward(LayerNorm{.rows = n, .columns = z.h, .epsilon = z.epsilon},
                {x, gamma.value, beta.value, u, mean, rstd});
  block.forward(Product{.rows = n, .in = z.h, .out = 3 * local, .bias = true},
                {u, w_qkv.value, b_qkv.value, qkv});
  int segment_starts = kNoValue;
  int lse = kNoValue;
  if (z.mode == Mode::decode) {
    const Shape cache = {z.b, z.local_heads, z.capacity, z.head_dim};
    block.forward(AttentionDecode{.sequences = z.b,
                                  .heads = z.local_heads,
                                  .head_dim = z.head_dim,
                                  .capacity = z.capacity},
                  {qkv, block.field(BatchField::cache_lengths, {z.b}),
                   block.persistent("keys", cache), block.persistent("values", cache), context});
  } else {
    segment_starts = block.field(BatchField::segment_starts, {z.s, z.b});
    lse = block.local("lse", {z.b, z.local_heads, z.s});
    block.forward(Attention{attention_sizes(z)},
                  {qkv, segment_starts, samples, seed, context, lse});
  }
  block.forward(Product{.rows = n, .in = local, .out = z.h}, {context, w_proj.value, kNoValue, o});
  g_forward(block, z, o, n * z.h);
  block.forward(BiasDropoutAdd{.length = z.s, .sequences = z.b, .hidden = z.h, .dropout = dropout},
                {o, b_proj.value, x, samples, seed, y});
  if (!z.trains()) return block.take();

  // backward
  const int dy = block.flow("dy", z.hidden_shape());
  const int dx = block.flow("dx", z.hidden_shape());
  const int d_o = block.local("do", z.hidden_shape());
  const int dcontext = block.local("dcontext", {z.s, z.b, local});
  const int dqkv = block.local("dqkv", {z.s, z.b, 3 * local});
  const int du = block.local("du", z.hidden_shape());
  const int u_again = block.local("u'", z.hidden_shape());
  block.input_gradient(
      DropoutBackward{.length = z.s, .sequences = z.b, .hidden = z.h, .dropout = dropout},
      {dy, samples, seed, d_o});
  block.weight_gradient(BiasGradient{.rows = n, .columns = z.h}, {d_o, b_proj.gradient});
  block.input_gradient(ProductInputGradient{.rows = n, .in = local, .out = z.h},
                       {d_o, w_proj.value, dcontext});
  block.weight_gradient(ProductWeightGradient{.rows = n, .in = local, .out = z.h},
                        {d_o, context, w_proj.gradient});
  block.input_gradient(AttentionBackward{attention_sizes(z)},
                       {dcontext, qkv, context, lse, segment_starts, samples, seed, dqkv});
  block.input_gradient(ProductInputGradient{.rows = n, .in = z.h, .out = 3 * local},
                       {dqkv, w_qkv.value, du});
  f_backward_start(block, z, du, n * z.h);
  block.weight_gradient(LayerNormOutput{.rows = n, .columns = z.h},
                        {x, gamma.value, beta.value, mean, rstd, u_again});
  block.weight_gradient(ProductWeightGradient{.rows = n, .in = z.h, .out = 3 * local},
                        {dqkv, u_again, w_qkv.gradient});
  block.weight_gradient(BiasGradient{.rows = n, .columns = 3 * local}, {dqkv, b_qkv.gradient});
  f_backward_wait(block, z, du, n * z.h);
  block.input_gradient(LayerNormBackward{.rows = n, .columns = z.h},
                       {du, x, gamma.value, mean, rstd, dy, dx});
  block.weight_gradient(LayerNormGradient{.rows = n, .columns = z.h},
                        {du, x, mean, rstd, gamma.gradient, beta.gradient});
  return block.take();
}

}  // namespace trireme::model
