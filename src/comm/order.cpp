#include "comm/order.h"

#include <algorithm>
#include <array>

namespace trireme::comm {
namespace {

constexpr int64_t kLine = 64;      // bytes
constexpr int64_t kBlock = 2'048;  // elements: the sum so far stays in the nearest cache

void add(float* sum, const float* values, int64_t count) {
  for (int64_t i = 0; i < count; ++i) sum[i] += values[i];
}

void keep_larger(float* most, const float* values, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const bool replaces = values[i] > most[i] || values[i] != values[i];
    most[i] = replaces ? values[i] : most[i];
  }
}

}  // namespace

int64_t cut(int64_t bytes, int ranks, int r) {
  const int64_t lines = (bytes + kLine - 1) / kLine;
  return std::min(bytes, lines * r / ranks * kLine);
}

void join(float* out, std::span<const float* const> sources, int64_t elements,
          program::Reduction reduction) {
  std::array<float, kBlock> joined;
  for (int64_t begin = 0; begin < elements; begin += kBlock) {
    const int64_t count = std::min(kBlock, elements - begin);
    std::copy_n(sources[0] + begin, count, joined.begin());
    for (const float* source : sources.subspan(1)) {
      (reduction == program::Reduction::sum ? add : keep_larger)(joined.data(), source + begin,
                                                                 count);
    }
    std::copy_n(joined.begin(), count, out + begin);
  }
}

}  // namespace trireme::comm
