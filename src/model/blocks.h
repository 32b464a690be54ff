#pragma once
#include "model/sizes.h"
#include "program/program.h"

namespace trireme::model {

/// The blocks of a GPT, each with its forward and backward side by side in its own file. Flows are
/// named x, y (forward), dy, dx (backward); weights by their tensor's name behind the instance's
/// prefix. Evaluation and decoding emit no backward.

/// y = dropout(words[token] + positions[position]). No x, no dx. Prefix "embedding.".
[[nodiscard]] program::Block embedding_block(const Sizes& z);

/// y = x + dropout(attention(norm(x)) + bias). Prefix "decoder.layers.N.".
[[nodiscard]] program::Block attention_block(const Sizes& z);

/// y = x + dropout(fc2(gelu(fc1(norm(x)))) + bias). Prefix "decoder.layers.N.".
[[nodiscard]] program::Block mlp_block(const Sizes& z);

/// y = x, dx = dy: the block of a stage that has neither layers nor an end of the model. No prefix.
[[nodiscard]] program::Block copy_block(const Sizes& z);

/// Final norm, logits over the vocabulary, loss and the gradient of the logits. No y, no dy. When
/// decoding the logits of all words leave as a flow, equal on all tensor ranks; when evaluating
/// losses and target [s, b] leave as flows, equal on all tensor ranks. No prefix.
[[nodiscard]] program::Block head_block(const Sizes& z);

}  // namespace trireme::model
