#include <memory>

#include "model/blocks.h"

namespace trireme::model {

using namespace program;

namespace {

template <class Spec>
Spec sized(const Sizes& z) {
  Spec op;
  op.length = z.s;
  op.sequences = z.b;
  op.heads = z.local_heads;
  op.first_head = z.first_head;
  op.head_dim = z.head_dim;
  op.dropout = {.site = RandomSite::attention_dropout, .probability = z.attention_dropout};
  return op;
}

// Values of the block between which the core lies.
struct Ends {
  int qkv, context, samples, seed;
};

// Scores, softmax and context of this rank's heads.
class Core {
 public:
  virtual ~Core() = default;
  virtual void forward(BlockBuilder& block, const Sizes& z, const Ends& ends) = 0;
  virtual void backward(BlockBuilder& block, const Sizes& z, const Ends& ends, int dcontext,
                        int dqkv) = 0;
};

class RecomputedCore final : public Core {
 public:
  void forward(BlockBuilder& block, const Sizes& z, const Ends& ends) override {
    segment_starts_ = block.field(BatchField::segment_starts, {z.s, z.b});
    lse_ = block.local("lse", {z.b, z.local_heads, z.s});
    block.forward(sized<Attention>(z),
                  {ends.qkv, segment_starts_, ends.samples, ends.seed, ends.context, lse_});
  }
  void backward(BlockBuilder& block, const Sizes& z, const Ends& ends, int dcontext,
                int dqkv) override {
    block.input_gradient(
        sized<AttentionBackward>(z),
        {dcontext, ends.qkv, ends.context, lse_, segment_starts_, ends.samples, ends.seed, dqkv});
  }

 private:
  int segment_starts_ = kNoValue;
  int lse_ = kNoValue;
};

class StoredCore final : public Core {
 public:
  void forward(BlockBuilder& block, const Sizes& z, const Ends& ends) override {
    const Shape scores = {z.b, z.local_heads, z.s, z.s};
    const bool drops = z.attention_dropout > 0;
    const int segment_starts =
        z.documents ? block.field(BatchField::segment_starts, {z.s, z.b}) : kNoValue;
    probabilities_ = block.local("probabilities", scores);  // of the scores in place
    kept_ = drops ? block.local("kept", scores) : probabilities_;
    auto softmax = sized<ScaleMaskSoftmax>(z);
    softmax.documents = z.documents;
    block.forward(sized<AttentionScores>(z), {ends.qkv, probabilities_});
    block.forward(softmax, {probabilities_, segment_starts, ends.samples, ends.seed, probabilities_,
                            drops ? kept_ : kNoValue});
    block.forward(sized<AttentionContext>(z), {kept_, ends.qkv, ends.context});
  }
  void backward(BlockBuilder& block, const Sizes& z, const Ends& ends, int dcontext,
                int dqkv) override {
    const int dkept = block.local("dkept", {z.b, z.local_heads, z.s, z.s});  // becomes dscores
    block.input_gradient(sized<AttentionContextBackward>(z),
                         {dcontext, kept_, ends.qkv, dkept, dqkv});
    block.input_gradient(sized<ScaleMaskSoftmaxBackward>(z),
                         {dkept, probabilities_, ends.samples, ends.seed, dkept});
    block.input_gradient(sized<AttentionScoresBackward>(z), {dkept, ends.qkv, dqkv});
  }

 private:
  int probabilities_ = kNoValue;
  int kept_ = kNoValue;
};

class DecodingCore final : public Core {
 public:
  void forward(BlockBuilder& block, const Sizes& z, const Ends& ends) override {
    const int64_t n = z.rows();
    const Shape cache = {z.places, z.local_heads, z.capacity, z.head_dim};
    block.forward(
        AttentionDecode{.rows = n,
                        .places = z.places,
                        .heads = z.local_heads,
                        .head_dim = z.head_dim,
                        .capacity = z.capacity},
        {ends.qkv, block.field(BatchField::places, {n}), block.field(BatchField::positions, {n}),
         block.persistent("keys", cache), block.persistent("values", cache), ends.context});
  }
  void backward(BlockBuilder&, const Sizes&, const Ends&, int, int) override {}
};

std::unique_ptr<Core> core_of(const Sizes& z) {
  if (z.caches()) return std::make_unique<DecodingCore>();
  if (z.attention == AttentionForm::stored) return std::make_unique<StoredCore>();
  return std::make_unique<RecomputedCore>();
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
  const Ends ends = {.qkv = qkv, .context = context, .samples = samples, .seed = seed};
  const std::unique_ptr<Core> core = core_of(z);
  core->forward(block, z, ends);
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
  core->backward(block, z, ends, dcontext, dqkv);
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
