#pragma once
#include "model/gpt_shape.h"
#include "parallel/topology.h"
#include "program/program.h"

namespace trireme::model {

/// What a program is for. evaluate: the forward list with saves and dropout off and a loss that
/// writes no gradient. decode: one new token per sequence against the key/value caches, no loss.
/// prompt: many tokens of prompts into the caches, no logits.
enum class Mode { train, evaluate, decode, prompt };

/// The sizes that the emitters of one rank's blocks need. Shape letters as in the paper; `local` is
/// this tensor rank's part.
struct Sizes {
  Mode mode = Mode::train;
  int64_t s = 0;  ///< tokens per sequence in this program: the sequence length, or 1 with caches
  int64_t b = 0;  ///< sequences per microbatch; with caches rows, each a token of some sequence
  int64_t h = 0;
  int64_t head_dim = 0;
  int64_t local_heads = 0;
  int64_t first_head = 0;
  int64_t local_ffn = 0;
  int64_t positions = 0;
  int64_t local_vocabulary = 0;    ///< rows stored, padding included
  int64_t counted_vocabulary = 0;  ///< rows that are words
  int64_t vocabulary = 0;          ///< V, the words of all tensor ranks
  int64_t first_word = 0;
  int64_t t = 1;         ///< tensor-parallel ranks
  int64_t places = 0;    ///< key/value caches
  int64_t capacity = 0;  ///< tokens of a key/value cache
  double epsilon = 1e-5;
  double hidden_dropout = 0;     ///< 0 unless training
  double attention_dropout = 0;  ///< 0 unless training
  AttentionForm attention = AttentionForm::recomputed;
  bool documents = true;

  [[nodiscard]] int64_t rows() const { return s * b; }
  [[nodiscard]] bool trains() const { return mode == Mode::train; }
  [[nodiscard]] bool caches() const { return mode == Mode::decode || mode == Mode::prompt; }
  [[nodiscard]] Shape hidden_shape() const { return {s, b, h}; }
};

/// Sizes of the rank at tensor coordinate `at.tensor`, training or evaluating.
[[nodiscard]] Sizes sizes_of(const GptShape& shape, const BatchShape& batch,
                             const parallel::Topology& topology, const parallel::Coordinates& at,
                             Mode mode);
/// The same with key/value caches: rows tokens at a time, mode decode or prompt.
[[nodiscard]] Sizes sizes_of(const GptShape& shape, const DecodeShape& decode, int64_t rows,
                             const parallel::Topology& topology, const parallel::Coordinates& at,
                             Mode mode);

/// The pair of conjugate operators around a tensor-parallel block (SC'21 section 2.3): g sums the
/// ranks' partial outputs in forward and is nothing in backward; f is nothing in forward and sums
/// the ranks' partial input gradients in backward. With one tensor rank neither emits anything. f
/// comes in two halves, so that weight gradients fill the time between start and wait.
void g_forward(program::BlockBuilder& block, const Sizes& z, int value, int64_t elements);
void f_backward_start(program::BlockBuilder& block, const Sizes& z, int value, int64_t elements);
void f_backward_wait(program::BlockBuilder& block, const Sizes& z, int value, int64_t elements);

}  // namespace trireme::model
