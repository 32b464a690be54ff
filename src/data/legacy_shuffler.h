#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace trireme::data {

/// numpy.random.RandomState(seed) as far as shuffle() goes: MT19937 by init_genrand(seed), bounded
/// draws by masked rejection. One generator, several shuffles: the draws go on.
///
/// A generator of our own, because the orders of large datasets wait for it: it makes its numbers
/// in blocks that the compiler turns into vector code, and a shuffle draws some places ahead, so
/// that their memory is on its way before it is needed.
class LegacyShuffler {
 public:
  explicit LegacyShuffler(uint32_t seed);

  [[nodiscard]] uint32_t draw() {
    if (next_ == kWords) refill();
    return output_[next_++];
  }
  /// Uniform in [0, most]. Above 2^32 - 1 a draw takes two words, the higher one first.
  [[nodiscard]] uint64_t bounded(uint64_t most);

  /// For i from the last place down to 1: swaps values[i] with values[bounded(i)].
  void shuffle(std::span<int32_t> values);
  void shuffle(std::span<uint32_t> values);
  void shuffle(std::span<uint64_t> values);

 private:
  static constexpr size_t kWords = 624;
  void refill();
  void draw_places(size_t last, std::span<uint64_t> places);
  template <class T>
  void shuffle_values(std::span<T> values);

  std::array<uint32_t, kWords> state_ = {};
  std::array<uint32_t, kWords> output_ = {};
  size_t next_ = kWords;
};

}  // namespace trireme::data
