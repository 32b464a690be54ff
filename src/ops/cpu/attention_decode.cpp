#include <cmath>
#include <cstring>
#include <limits>

#include "core/error.h"
#include "ops/cpu/blocks.h"
#include "ops/cpu/cpu.h"
#include "ops/cpu/targets.h"
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/cpu/attention_decode.cpp"
#include <hwy/foreach_target.h>
#include "ops/cpu/vector_inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace trireme::ops::cpu {
namespace HWY_NAMESPACE {

// One head of one sequence: `keys` rows of k and v against one q; weights [keys] is scratch.
void decode_head(const float* q, const float* k, const float* v, int64_t keys, int64_t head_dim,
                 float* weights, float* context) {
  const float scale = 1.0F / std::sqrt(static_cast<float>(head_dim));
  float maximum = -std::numeric_limits<float>::infinity();
  for (int64_t key = 0; key < keys; ++key) {
    const float* row = k + key * head_dim;
    const float dot = sum_row(head_dim, [&](auto lanes, int64_t i) HWY_ATTR {
      return hn::Mul(lanes.load(q + i), lanes.load(row + i));
    });
    weights[key] = dot * scale;
    maximum = std::max(maximum, weights[key]);
  }
  const FloatVector maximum_v = hn::Set(kFloats, maximum);
  const float sum = sum_row(keys, [&](auto lanes, int64_t i) HWY_ATTR {
    const FloatVector weight = exp(hn::Sub(lanes.load(weights + i), maximum_v));
    lanes.store(weight, weights + i);
    return weight;
  });
  const FloatVector inverse = hn::Set(kFloats, 1.0F / sum);
  over_row(head_dim, [&](auto lanes, int64_t i) HWY_ATTR {
    // Two running sums, even and odd keys, hide the latency of the additions.
    FloatVector even = hn::Zero(kFloats);
    FloatVector odd = hn::Zero(kFloats);
    int64_t key = 0;
    for (; key + 2 <= keys; key += 2) {
      const float* row = v + key * head_dim + i;
      even = hn::MulAdd(hn::Set(kFloats, weights[key]), lanes.load(row), even);
      odd = hn::MulAdd(hn::Set(kFloats, weights[key + 1]), lanes.load(row + head_dim), odd);
    }
    if (key < keys) {
      even = hn::MulAdd(hn::Set(kFloats, weights[key]), lanes.load(v + key * head_dim + i), even);
    }
    lanes.store(hn::Mul(hn::Add(even, odd), inverse), context + i);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace trireme::ops::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trireme::ops::cpu {
namespace {

HWY_EXPORT(decode_head);

void attention_decode(device::Stream& stream, const program::AttentionDecode& op,
                      const Arguments& arguments) {
  const int64_t d = op.head_dim;
  const auto bytes = static_cast<size_t>(d) * sizeof(float);
  const auto* cache_lengths = arguments.pointer<const int32_t>(op.kCacheLengths);
  pool_of(stream).parallel_for(op.sequences * op.heads, [&](int64_t row, int thread) {
    const int64_t cached = cache_lengths[row / op.heads];
    TRIREME_ASSERT(cached >= 0 && cached < op.capacity,
                   "the key/value cache has room for the token");
    const float* q = arguments.pointer<const float>(op.kQkv) + row * 3 * d;
    float* k = arguments.pointer<float>(op.kKeys) + row * op.capacity * d;
    float* v = arguments.pointer<float>(op.kValues) + row * op.capacity * d;
    std::memcpy(k + cached * d, q + d, bytes);
    std::memcpy(v + cached * d, q + 2 * d, bytes);
    HWY_DYNAMIC_DISPATCH(decode_head)
    (q, k, v, cached + 1, d, reinterpret_cast<float*>(arguments.workspace) + thread * op.capacity,
     arguments.pointer<float>(op.kContext) + row * d);
  });
}

}  // namespace

void add_attention_decode(KernelTable& table) {
  entry<program::AttentionDecode, attention_decode>(table);
}

}  // namespace trireme::ops::cpu
#endif
