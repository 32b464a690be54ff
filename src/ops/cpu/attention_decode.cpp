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
  const auto* places = arguments.pointer<const int32_t>(op.kPlaces);
  const auto* positions = arguments.pointer<const int32_t>(op.kPositions);
  const auto* qkv = arguments.pointer<const float>(op.kQkv);
  auto* keys = arguments.pointer<float>(op.kKeys);
  auto* values = arguments.pointer<float>(op.kValues);
  const auto cache_of = [&](int64_t row, int64_t head) {
    return (places[row] * op.heads + head) * op.capacity * d;
  };
  pool_of(stream).parallel_for(op.rows, [&](int64_t row, int) {
    if (places[row] < 0) return;
    TRIREME_ASSERT(places[row] < op.places && positions[row] >= 0 && positions[row] < op.capacity,
                   "the key/value cache has room for the token");
    for (int64_t head = 0; head < op.heads; ++head) {
      const float* q = qkv + (row * op.heads + head) * 3 * d;
      const int64_t at = cache_of(row, head) + positions[row] * d;
      std::memcpy(keys + at, q + d, bytes);
      std::memcpy(values + at, q + 2 * d, bytes);
    }
  });
  // Rows of one head one after the other: those of a prompt find its cache near.
  pool_of(stream).parallel_for(op.heads * op.rows, [&](int64_t index, int thread) {
    const int64_t head = index / op.rows;
    const int64_t row = index % op.rows;
    float* context = arguments.pointer<float>(op.kContext) + (row * op.heads + head) * d;
    if (places[row] < 0) {
      std::memset(context, 0, bytes);
      return;
    }
    HWY_DYNAMIC_DISPATCH(decode_head)
    (qkv + (row * op.heads + head) * 3 * d, keys + cache_of(row, head),
     values + cache_of(row, head), positions[row] + 1, d,
     reinterpret_cast<float*>(arguments.workspace) + thread * op.capacity, context);
  });
}

}  // namespace

void add_attention_decode(KernelTable& table) {
  entry<program::AttentionDecode, attention_decode>(table);
}

}  // namespace trireme::ops::cpu
#endif
