#include "model/blocks.h"

namespace trireme::model {

using namespace program;

Block copy_block(const Sizes& z) {
  const Copy copy = {.elements = z.rows() * z.h};
  BlockBuilder block("copy");
  const int x = block.flow("x", z.hidden_shape());
  const int y = block.flow("y", z.hidden_shape());
  block.forward(copy, {x, y});
  if (!z.trains()) return block.take();

  const int dy = block.flow("dy", z.hidden_shape());
  const int dx = block.flow("dx", z.hidden_shape());
  block.input_gradient(copy, {dy, dx});
  return block.take();
}

}  // namespace trireme::model
