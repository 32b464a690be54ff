#include "core/random.h"

#include <bit>
#include <cmath>

namespace trireme {
namespace {

// ln(x) for normal positive x, relative error below 1e-13: x = m 2^e with m in [sqrt(1/2),
// sqrt(2)), then the series of atanh((m-1)/(m+1)).
double own_log(double x) {
  uint64_t bits = std::bit_cast<uint64_t>(x);
  int exponent = static_cast<int>(bits >> 52) - 1022;
  double m =
      std::bit_cast<double>((bits & 0x000FFFFFFFFFFFFFULL) | 0x3FE0000000000000ULL);  // [1/2, 1)
  if (m < 0.70710678118654752) {
    m *= 2;
    exponent -= 1;
  }
  const double z = (m - 1) / (m + 1);
  const double z2 = z * z;
  double sum = 0;
  for (int k = 19; k >= 1; k -= 2) sum = sum * z2 + 1.0 / k;
  return exponent * 0.69314718055994530942 + 2 * z * sum;
}

struct SineCosine {
  double sine, cosine;
};

// sin and cos of 2 pi turn for turn in [0, 1): reduced to an eighth of a turn, then Taylor series
// (error below 1e-15).
SineCosine own_sine_cosine(double turn) {
  const int quarter = (static_cast<int>(turn * 8) + 1) / 2;           // the nearest
  const double x = (turn - quarter * 0.25) * 6.28318530717958647693;  // in [-pi/4, pi/4]
  const double x2 = x * x;
  double sine = 0;
  double cosine = 0;
  for (int k = 17; k >= 3; k -= 2) sine = (1 - sine) * x2 / (k * (k - 1));
  for (int k = 16; k >= 2; k -= 2) cosine = (1 - cosine) * x2 / (k * (k - 1));
  sine = x * (1 - sine);
  cosine = 1 - cosine;
  switch (quarter & 3) {
    case 0:
      return {sine, cosine};
    case 1:
      return {cosine, -sine};
    case 2:
      return {-sine, -cosine};
    default:
      return {-cosine, sine};
  }
}

}  // namespace

RandomBlock philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * counter[0];
    const uint64_t b = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(a)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

uint32_t drop_threshold(double probability) {
  return static_cast<uint32_t>(std::nearbyint(probability * 4294967296.0));
}

float uniform(uint32_t bits) {
  return (static_cast<float>(bits >> 9) + 0.5F) * 0x1p-23F;
}

std::array<float, 2> normal_pair(uint32_t bits_a, uint32_t bits_b) {
  // 32 bits each, in the open interval: the tail reaches 6.7 standard deviations.
  const double u = (static_cast<double>(bits_a) + 0.5) * 0x1p-32;
  const double radius = std::sqrt(-2 * own_log(u));  // sqrt is exact by IEEE 754
  const auto [sine, cosine] = own_sine_cosine(static_cast<double>(bits_b) * 0x1p-32);
  return {static_cast<float>(radius * cosine), static_cast<float>(radius * sine)};
}

float normal(const RandomStream& stream, uint64_t element) {
  const RandomBlock block = stream.block(element / 4);
  const size_t lane = element % 4;
  return normal_pair(block[lane & 2U], block[lane | 1U])[lane & 1U];
}

}  // namespace trireme
