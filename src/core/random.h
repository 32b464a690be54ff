#pragma once
#include <array>
#include <cstdint>

namespace trireme {

/// Random numbers as a function of global coordinates, never of call order: Philox4x32-10 (Salmon
/// et al., SC'11). The format, with the list of sites, is docs/formats.md section "Random numbers";
/// its vectors are in random_test.cpp.
using RandomBlock = std::array<uint32_t, 4>;

[[nodiscard]] RandomBlock philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

/// Every use of random numbers. The values are part of the file format: never renumber.
enum class RandomSite : uint32_t {
  embedding_dropout = 1,
  attention_dropout = 2,
  projection_dropout = 3,
  mlp_dropout = 4,
  init_word_embeddings = 16,
  init_position_embeddings = 17,
  init_qkv = 18,
  init_projection = 19,
  init_fc1 = 20,
  init_fc2 = 21,
  init_output = 22,
  sampling = 32,
  mock_data = 48,
};

/// One stream of numbers: key = (seed, site), counter = (element/4, layer 24 bit, sample position
/// 40 bit), lane = element mod 4.
struct RandomStream {
  uint32_t seed = 0;
  RandomSite site = RandomSite::embedding_dropout;
  uint32_t layer = 0;   ///< in [0, 2^24); 0 where there is no layer
  uint64_t sample = 0;  ///< consumed-sample position in [0, 2^40); 0 for initial weights

  /// The four numbers of elements 4 block .. 4 block + 3.
  [[nodiscard]] RandomBlock block(uint64_t block) const {
    return philox4x32(
        {static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32),
         layer | static_cast<uint32_t>(sample << 24), static_cast<uint32_t>(sample >> 8)},
        {seed, static_cast<uint32_t>(site)});
  }
  [[nodiscard]] uint32_t bits(uint64_t element) const { return block(element / 4)[element % 4]; }
};

/// Innermost extent as the random format counts it: rounded up to a multiple of 4, so that rows
/// start at a block.
[[nodiscard]] constexpr int64_t random_row(int64_t innermost) {
  return (innermost + 3) / 4 * 4;
}

/// Dropout keeps an element when its bits are at or above this: round(p 2^32), p in [0, 1).
[[nodiscard]] uint32_t drop_threshold(double probability);

/// Uniform in (0, 1), from the upper 23 bits.
[[nodiscard]] float uniform(uint32_t bits);

/// Standard normals of two elements from their bits (Box-Muller with our own logarithm, sine and
/// cosine, in double, so that the bits do not depend on the C library).
[[nodiscard]] std::array<float, 2> normal_pair(uint32_t bits_a, uint32_t bits_b);

/// The standard normal of one element of a stream; elements 2k and 2k+1 share a pair.
[[nodiscard]] float normal(const RandomStream& stream, uint64_t element);

}  // namespace trireme
