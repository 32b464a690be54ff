#include "model/gpt_shape.h"

#include <numeric>

#include "core/error.h"
#include "core/format.h"
#include "core/nearest_values.h"

namespace trireme::model {
namespace {

void require(bool holds, const std::string& what, const std::string& rule,
             const std::string& remedy) {
  if (!holds) fail_usage({.where = "model", .what = what, .rule = rule, .remedy = remedy});
}

}  // namespace

void require_possible(const GptShape& shape, const BatchShape& batch,
                      const parallel::Topology& topology) {
  const auto positive = [](const char* option, int64_t value) {
    require(value >= 1, format("{} {}", option, value), "at least 1", "");
  };
  positive("--num-layers", shape.layers);
  positive("--hidden-size", shape.hidden);
  positive("--num-attention-heads", shape.heads);
  positive("--ffn-hidden-size", shape.ffn);
  positive("--seq-length", shape.length);
  positive("--vocab-size", shape.vocabulary);
  positive("--make-vocab-size-divisible-by", shape.vocabulary_granule);
  positive("--micro-batch-size", batch.sequences);
  positive("microbatches per global batch:", batch.microbatches);
  require(shape.hidden % shape.heads == 0,
          format("--hidden-size {} with --num-attention-heads {}", shape.hidden, shape.heads),
          "the hidden size is a multiple of the number of heads",
          format("use --hidden-size {}", nearest_multiples(shape.hidden, shape.heads)));
  require(
      shape.length <= shape.positions,
      format("--seq-length {} with --max-position-embeddings {}", shape.length, shape.positions),
      "every position of a sequence has an embedding",
      format("use --max-position-embeddings {}", shape.length));
  const int64_t t = topology.tensor();
  require(shape.heads % t == 0,
          format("{} attention heads over {} tensor-parallel ranks", shape.heads, t),
          "each rank gets whole heads, equally many",
          format("use --tensor-model-parallel-size {}",
                 nearest_divisors(t, std::gcd(shape.heads, shape.ffn))));
  require(shape.ffn % t == 0,
          format("--ffn-hidden-size {} over {} tensor-parallel ranks", shape.ffn, t),
          "each rank gets as many columns",
          format("use --ffn-hidden-size {}, or --tensor-model-parallel-size {}",
                 nearest_multiples(shape.ffn, t),
                 nearest_divisors(t, std::gcd(shape.heads, shape.ffn))));
  // The random format has 24 bits for layers; 32-bit token ids and positions.
  require(shape.layers < (1 << 24) && shape.vocabulary <= INT32_MAX && shape.positions <= INT32_MAX,
          "layers, vocabulary or positions", "below 2^24 layers, 2^31 words and positions", "");
}

double paper_model_flops(const GptShape& shape, int64_t global_batch) {
  const auto B = static_cast<double>(global_batch);
  const auto s = static_cast<double>(shape.length);
  const auto l = static_cast<double>(shape.layers);
  const auto h = static_cast<double>(shape.hidden);
  const auto V = static_cast<double>(shape.vocabulary);
  return 72 * B * s * l * h * h * (1 + s / (6 * h) + V / (12 * l * h));
}

}  // namespace trireme::model
