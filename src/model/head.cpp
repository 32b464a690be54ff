#include <algorithm>

#include "model/blocks.h"

namespace trireme::model {

using namespace program;

namespace {

// Sums (or takes the largest of) a small per-row value over the tensor ranks.
void combine(BlockBuilder& block, const Sizes& z, int value, Reduction reduction) {
  if (z.t == 1) return;
  block.forward(
      AllReduceStart{
          .traffic = Traffic::loss, .ranks = z.t, .elements = z.rows(), .reduction = reduction},
      {value});
  block.forward(AllReduceWait{.elements = z.rows()}, {value});
}

// Logits of the words that exist, for the host: every tensor rank gets those of all.
Block decoding_head(const Sizes& z) {
  const int64_t n = z.rows();
  const int64_t own_words = z.counted_vocabulary;
  BlockBuilder block("head");
  const int x = block.flow("x", z.hidden_shape());
  const int logits = block.flow("logits", {n, z.vocabulary});
  if (own_words > 0) {
    const int gamma = block.parameter("decoder.final_layernorm.weight", {z.h});
    const int beta = block.parameter("decoder.final_layernorm.bias", {z.h});
    // Rows of the padding stand behind those that are read.
    const int words = block.parameter("output_layer.weight", {own_words, z.h});
    const int u = block.local("u", z.hidden_shape());
    const int mean = block.local("mean", {n});
    const int rstd = block.local("rstd", {n});
    const int own = z.t == 1 ? logits : block.flow("own_logits", {n, own_words});
    block.forward(LayerNorm{.rows = n, .columns = z.h, .epsilon = z.epsilon},
                  {x, gamma, beta, u, mean, rstd});
    block.forward(Product{.rows = n, .in = z.h, .out = own_words}, {u, words, kNoValue, own});
  }
  if (z.t == 1) return block.take();
  std::vector<int64_t> cuts;
  for (int64_t rank = 0; rank <= z.t; ++rank)
    cuts.push_back(n * bytes_of(DType::f32) * std::min(rank * z.local_vocabulary, z.vocabulary));
  block.forward(AllGatherStart{.elements = n * z.vocabulary,
                               .cuts = block.keep(std::move(cuts)),
                               .own = z.first_word / z.local_vocabulary},
                {logits});
  block.forward(AllGatherWait{.elements = n * z.vocabulary}, {logits});
  return block.take();
}

}  // namespace

Block head_block(const Sizes& z) {
  if (z.mode == Mode::decode) return decoding_head(z);
  const int64_t n = z.rows();
  const int64_t v = z.local_vocabulary;  // V / t, padded
  const VocabSizes vocabulary = {
      .rows = n, .columns = v, .counted = z.counted_vocabulary, .first_row = z.first_word};
  BlockBuilder block("head");

  const auto gamma = block.weight("decoder.final_layernorm.weight", {z.h});
  const auto beta = block.weight("decoder.final_layernorm.bias", {z.h});
  const auto words = block.weight("output_layer.weight", {v, z.h});
  const int x = block.flow("x", z.hidden_shape());
  const int u = block.local("u", z.hidden_shape());
  const int mean = block.local("mean", {n});
  const int rstd = block.local("rstd", {n});

  // forward
  block.forward(LayerNorm{.rows = n, .columns = z.h, .epsilon = z.epsilon},
                {x, gamma.value, beta.value, u, mean, rstd});
  const int logits = block.local("logits", {z.s, z.b, v});  // becomes dlogits in place
  const int maximum = block.local("maximum", {n});
  const int sum = block.local("sum", {n});
  // An evaluation says something of each token, training of the batch.
  const auto of_each_token = [&](const char* name) {
    return z.trains() ? block.local(name, {n}) : block.flow(name, {z.s, z.b});
  };
  const int target = of_each_token("target");
  const int losses = of_each_token("losses");
  const int labels = block.field(BatchField::labels, {z.s, z.b});
  const int loss_mask = block.field(BatchField::loss_mask, {z.s, z.b});
  const int gradient_scale = block.scalar(StepScalar::gradient_scale);
  const int loss_total = block.scalar(StepScalar::loss_total);
  block.forward(Product{.rows = n, .in = z.h, .out = v}, {u, words.value, kNoValue, logits});
  block.forward(LogitMaximum{vocabulary}, {logits, maximum});
  combine(block, z, maximum, Reduction::maximum);
  block.forward(LogitSum{vocabulary}, {logits, labels, maximum, sum, target});
  combine(block, z, sum, Reduction::sum);
  combine(block, z, target, Reduction::sum);
  block.forward(CrossEntropy{vocabulary, z.trains()},
                {logits, labels, loss_mask, maximum, sum, target, gradient_scale, losses});
  block.forward(LossTotal{.rows = n}, {losses, loss_mask, loss_total});
  if (!z.trains()) return block.take();

  // backward
  const int dx = block.flow("dx", z.hidden_shape());
  const int du = block.local("du", z.hidden_shape());
  const int u_again = block.local("u'", z.hidden_shape());
  block.input_gradient(ProductInputGradient{.rows = n, .in = z.h, .out = v},
                       {logits, words.value, du});
  f_backward_start(block, z, du, n * z.h);
  block.weight_gradient(LayerNormOutput{.rows = n, .columns = z.h},
                        {x, gamma.value, beta.value, mean, rstd, u_again});
  block.weight_gradient(ProductWeightGradient{.rows = n, .in = z.h, .out = v},
                        {logits, u_again, words.gradient});
  f_backward_wait(block, z, du, n * z.h);
  block.input_gradient(LayerNormBackward{.rows = n, .columns = z.h, .residual = false},
                       {du, x, gamma.value, mean, rstd, kNoValue, dx});
  block.weight_gradient(LayerNormGradient{.rows = n, .columns = z.h},
                        {du, x, mean, rstd, gamma.gradient, beta.gradient});
  return block.take();
}

}  // namespace trireme::model
