#include "data/legacy_shuffler.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

namespace trireme::data {
namespace {

constexpr size_t kMiddle = 397;       // MT19937's m
constexpr size_t kPlacesAhead = 128;  // enough to hide a miss, few enough to stay in the cache

uint32_t twisted(uint32_t word, uint32_t next, uint32_t middle) {
  const uint32_t joined = (word & 0x80000000U) | (next & 0x7fffffffU);
  return middle ^ (joined >> 1) ^ ((0U - (joined & 1U)) & 0x9908b0dfU);
}

uint32_t tempered(uint32_t word) {
  word ^= word >> 11;
  word ^= (word << 7) & 0x9d2c5680U;
  word ^= (word << 15) & 0xefc60000U;
  return word ^ (word >> 18);
}

/// The smallest 2^k - 1 that is >= most.
uint64_t mask_of(uint64_t most) {
  return most == 0 ? 0 : ~uint64_t{0} >> std::countl_zero(most);
}

}  // namespace

LegacyShuffler::LegacyShuffler(uint32_t seed) {
  state_[0] = seed;
  for (size_t i = 1; i < kWords; ++i) {
    const uint32_t before = state_[i - 1] ^ (state_[i - 1] >> 30);
    state_[i] = 1812433253U * before + static_cast<uint32_t>(i);
  }
}

void LegacyShuffler::refill() {
  for (size_t i = 0; i < kWords - kMiddle; ++i) {
    state_[i] = twisted(state_[i], state_[i + 1], state_[i + kMiddle]);
  }
  for (size_t i = kWords - kMiddle; i < kWords - 1; ++i) {
    state_[i] = twisted(state_[i], state_[i + 1], state_[i + kMiddle - kWords]);
  }
  state_[kWords - 1] = twisted(state_[kWords - 1], state_[0], state_[kMiddle - 1]);
  for (size_t i = 0; i < kWords; ++i) output_[i] = tempered(state_[i]);
  next_ = 0;
}

uint64_t LegacyShuffler::bounded(uint64_t most) {
  const uint64_t mask = mask_of(most);
  for (;;) {
    uint64_t value = draw();
    if (most > std::numeric_limits<uint32_t>::max()) value = value << 32 | draw();
    if ((value & mask) <= most) return value & mask;
  }
}

/// places[k] = bounded(last - k).
void LegacyShuffler::draw_places(size_t last, std::span<uint64_t> places) {
  if (last > std::numeric_limits<uint32_t>::max()) {
    for (size_t k = 0; k < places.size(); ++k) places[k] = bounded(last - k);
    return;
  }
  // Without a branch on the draw, which would be mispredicted every third time: a refused value
  // stays in its place until the next one takes it.
  for (size_t made = 0; made < places.size();) {
    const uint64_t most = last - made;
    const uint64_t value = draw() & mask_of(most);
    places[made] = value;
    made += value <= most ? 1 : 0;
  }
}

template <class T>
void LegacyShuffler::shuffle_values(std::span<T> values) {
  std::array<uint64_t, kPlacesAhead> buffer = {};
  size_t last = values.empty() ? 0 : values.size() - 1;
  while (last > 0) {
    const std::span<uint64_t> places = std::span(buffer).first(std::min(kPlacesAhead, last));
    draw_places(last, places);
    for (const uint64_t place : places) __builtin_prefetch(&values[place], 1);
    for (const uint64_t place : places) std::swap(values[last--], values[place]);
  }
}

void LegacyShuffler::shuffle(std::span<int32_t> values) {
  shuffle_values(values);
}
void LegacyShuffler::shuffle(std::span<uint32_t> values) {
  shuffle_values(values);
}
void LegacyShuffler::shuffle(std::span<uint64_t> values) {
  shuffle_values(values);
}

}  // namespace trireme::data
