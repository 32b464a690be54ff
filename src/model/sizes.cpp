#include "model/sizes.h"

#include <algorithm>

namespace trireme::model {

Sizes sizes_of(const GptShape& shape, const BatchShape& batch, const parallel::Topology& topology,
               const parallel::Coordinates& at, Mode mode) {
  const int64_t t = topology.tensor();
  const int64_t local_vocabulary = shape.padded_vocabulary(topology.tensor()) / t;
  const int64_t first_word = local_vocabulary * at.tensor;
  return {
      .mode = mode,
      .s = shape.length,
      .b = batch.sequences,
      .h = shape.hidden,
      .head_dim = shape.head_dim(),
      .local_heads = shape.heads / t,
      .first_head = shape.heads / t * at.tensor,
      .local_ffn = shape.ffn / t,
      .positions = shape.positions,
      .local_vocabulary = local_vocabulary,
      .counted_vocabulary = std::clamp<int64_t>(shape.vocabulary - first_word, 0, local_vocabulary),
      .vocabulary = shape.vocabulary,
      .first_word = first_word,
      .t = t,
      .epsilon = shape.norm_epsilon,
      .hidden_dropout = mode == Mode::train ? shape.hidden_dropout : 0,
      .attention_dropout = mode == Mode::train ? shape.attention_dropout : 0,
      .attention = shape.attention,
      .documents = batch.documents};
}

Sizes sizes_of(const GptShape& shape, const DecodeShape& decode, int64_t rows,
               const parallel::Topology& topology, const parallel::Coordinates& at, Mode mode) {
  Sizes sizes = sizes_of(shape, BatchShape{.sequences = rows}, topology, at, mode);
  sizes.s = 1;
  sizes.places = decode.places;
  sizes.capacity = decode.capacity;
  return sizes;
}

void g_forward(program::BlockBuilder& block, const Sizes& z, int value, int64_t elements) {
  if (z.t == 1) return;
  block.forward(program::AllReduceStart{.ranks = z.t, .elements = elements}, {value});
  block.forward(program::AllReduceWait{.elements = elements}, {value});
}

void f_backward_start(program::BlockBuilder& block, const Sizes& z, int value, int64_t elements) {
  if (z.t == 1) return;
  block.input_gradient(
      program::AllReduceStart{
          .traffic = program::Traffic::gradient, .ranks = z.t, .elements = elements},
      {value});
}

void f_backward_wait(program::BlockBuilder& block, const Sizes& z, int value, int64_t elements) {
  if (z.t == 1) return;
  block.input_gradient(program::AllReduceWait{.elements = elements}, {value});
}

}  // namespace trireme::model
