#include "model/chunk_program.h"

#include "core/error.h"
#include "core/format.h"
#include "model/blocks.h"

namespace trireme::model {
namespace {

using program::Block;
using program::Instance;
using program::kNoValue;
using program::Program;
using program::Value;
using program::ValueKind;

// Puts instances one behind the other: each one's y is the next one's x, each one's dy the next
// one's dx.
class Chain {
 public:
  Chain(Program& program, const parallel::TensorTable& table, const Sizes& sizes)
      : program_(program), table_(table), sizes_(sizes) {}

  int add_flow(const std::string& name, Shape shape) {
    program_.flows.push_back({.name = name, .kind = ValueKind::flow, .shape = shape});
    return static_cast<int>(program_.flows.size()) - 1;
  }

  // A chunk without embedding starts with what the stage before it sends.
  void start_from_input() {
    program_.input = x_ = add_flow("x0", sizes_.hidden_shape());
    if (sizes_.trains()) program_.input_gradient = dx_ = add_flow("dx0", sizes_.hidden_shape());
  }

  void append(int block_index, int layer, const std::string& prefix) {
    const Block& block = program_.blocks[static_cast<size_t>(block_index)];
    Instance instance = {.block = block_index,
                         .layer = layer,
                         .bindings = std::vector<int>(block.values.size(), kNoValue)};
    int y = kNoValue;
    int dy = kNoValue;
    for (size_t v = 0; v < block.values.size(); ++v) {
      const Value& value = block.values[v];
      int& binding = instance.bindings[v];
      switch (value.kind) {
        case ValueKind::parameter:
        case ValueKind::gradient: {
          const auto id = table_.find(prefix + value.name);
          TRIREME_ASSERT(id.has_value(),
                         "every weight is in the tensor table: " + prefix + value.name);
          binding = id->value;
          break;
        }
        case ValueKind::flow:
          if (value.name == "x") binding = x_;
          if (value.name == "dx") binding = dx_;
          if (value.name == "y") binding = y = add_flow(format("x{}", ++count_), value.shape);
          if (value.name == "dy") binding = dy = add_flow(format("dx{}", count_), value.shape);
          if (value.name == "losses") binding = program_.losses = add_flow("losses", value.shape);
          if (value.name == "logits") binding = program_.logits = add_flow("logits", value.shape);
          if (value.name == "own_logits")
            binding = program_.own_logits = add_flow("own_logits", value.shape);
          if (value.name == "target") binding = program_.target = add_flow("target", value.shape);
          break;
        default:
          break;
      }
    }
    program_.instances.push_back(std::move(instance));
    x_ = y;
    dx_ = dy;
  }

  // What the last instance made leaves the chunk.
  void end_with_output() {
    program_.output = x_;
    program_.output_gradient = dx_;
  }

 private:
  Program& program_;
  const parallel::TensorTable& table_;
  const Sizes& sizes_;
  int x_ = kNoValue;
  int dx_ = kNoValue;
  int count_ = 0;
};

const char* mode_name(Mode mode) {
  switch (mode) {
    case Mode::train:
      return "train";
    case Mode::evaluate:
      return "evaluate";
    case Mode::decode:
      return "decode";
    case Mode::prompt:
      return "prompt";
  }
  return "?";
}

}  // namespace

Program chunk_program(const Sizes& sizes, const parallel::Chunk& chunk,
                      const parallel::TensorTable& table) {
  Program program = {.name = format("{}, chunk {}", mode_name(sizes.mode), chunk.chunk.value)};
  const auto add_block = [&](Block block) {
    program.blocks.push_back(std::move(block));
    return static_cast<int>(program.blocks.size()) - 1;
  };
  const bool has_layers = chunk.layers > 0;
  const int embedding = chunk.embedding ? add_block(embedding_block(sizes)) : kNoValue;
  const int attention = has_layers ? add_block(attention_block(sizes)) : kNoValue;
  const int mlp = has_layers ? add_block(mlp_block(sizes)) : kNoValue;
  // A prompt leaves nothing behind but its keys and values.
  const bool has_head = chunk.head && sizes.mode != Mode::prompt;
  const int head = has_head ? add_block(head_block(sizes)) : kNoValue;

  const bool is_empty = !has_layers && !chunk.embedding && !chunk.head;

  Chain chain(program, table, sizes);
  if (chunk.embedding) {
    chain.append(embedding, 0, "embedding.");
  } else {
    chain.start_from_input();
  }
  for (int layer = chunk.first_layer; layer < chunk.first_layer + chunk.layers; ++layer) {
    const std::string prefix = format("decoder.layers.{}.", layer);
    chain.append(attention, layer, prefix);
    chain.append(mlp, layer, prefix);
  }
  if (is_empty) chain.append(add_block(copy_block(sizes)), 0, "");
  if (has_head) chain.append(head, 0, "");
  if (!chunk.head) chain.end_with_output();
  return program;
}

}  // namespace trireme::model
