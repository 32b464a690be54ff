#include "model/blocks.h"

namespace trireme::model {

using namespace program;

Block embedding_block(const Sizes& z) {
  const int64_t n = z.rows();
  const Dropout dropout = {.site = RandomSite::embedding_dropout, .probability = z.hidden_dropout};
  BlockBuilder block("embedding");

  const auto words = block.weight("word_embeddings.weight", {z.local_vocabulary, z.h});
  const auto places = block.weight("position_embeddings.weight", {z.positions, z.h});
  const int tokens = block.field(BatchField::tokens, {z.s, z.b});
  const int positions = block.field(BatchField::positions, {z.s, z.b});
  const int samples = block.field(BatchField::samples, {z.b});
  const int seed = block.scalar(StepScalar::seed);
  const int y = block.flow("y", z.hidden_shape());
  const int e = block.local("e", z.hidden_shape());

  // forward
  block.forward(
      EmbeddingLookup{
          .tokens = n, .hidden = z.h, .rows = z.local_vocabulary, .first_row = z.first_word},
      {tokens, words.value, e});
  g_forward(block, z, e, n * z.h);
  block.forward(
      PositionDropout{
          .length = z.s, .sequences = z.b, .hidden = z.h, .rows = z.positions, .dropout = dropout},
      {e, positions, places.value, samples, seed, y});
  if (!z.trains()) return block.take();

  // backward
  const int dy = block.flow("dy", z.hidden_shape());
  const int de = block.local("de", z.hidden_shape());
  block.input_gradient(
      DropoutBackward{.length = z.s, .sequences = z.b, .hidden = z.h, .dropout = dropout},
      {dy, samples, seed, de});
  block.weight_gradient(PositionGradient{.tokens = n, .hidden = z.h, .rows = z.positions},
                        {positions, de, places.gradient});
  block.weight_gradient(
      EmbeddingGradient{
          .tokens = n, .hidden = z.h, .rows = z.local_vocabulary, .first_row = z.first_word},
      {tokens, de, words.gradient});
  return block.take();
}

}  // namespace trireme::model
