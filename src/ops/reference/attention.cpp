#include <algorithm>
#include <cmath>
#include <vector>

#include "ops/reference/dropout.h"
#include "ops/reference/heads.h"
#include "ops/reference/reference.h"

namespace trireme::ops::reference {
namespace {

// Turns scores into probabilities; returns the logarithm of the sum of their exponentials.
double softmax(std::vector<double>& scores) {
  const double maximum = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (const double score : scores) sum += std::exp(score - maximum);
  const double lse = maximum + std::log(sum);
  for (double& score : scores) score = std::exp(score - lse);
  return lse;
}

template <std::floating_point T>
void attention(device::Stream&, const program::Attention& op, const Arguments& arguments) {
  const T* qkv = arguments.pointer<const T>(op.kQkv);
  const auto* segment_starts = arguments.pointer<const int32_t>(op.kSegmentStarts);
  const auto* samples = arguments.pointer<const int64_t>(op.kSamples);
  const int32_t seed = *arguments.pointer<const int32_t>(op.kSeed);
  T* context = arguments.pointer<T>(op.kContext);
  T* lse = arguments.pointer<T>(op.kLse);
  const double scale = 1 / std::sqrt(static_cast<double>(op.head_dim));
  for (int64_t sequence = 0; sequence < op.sequences; ++sequence) {
    const DropoutMask mask(op.dropout, seed, arguments.layer, samples[sequence]);
    for (int64_t head = 0; head < op.heads; ++head) {
      const HeadQkv<const T> in(qkv, op, sequence, head);
      const HeadRows<T> out = head_rows(context, op, sequence, head);
      for (int64_t query = 0; query < op.length; ++query) {
        const int64_t first_key = segment_starts[query * op.sequences + sequence];
        std::vector<double> weights;
        for (int64_t key = first_key; key <= query; ++key) {
          weights.push_back(dot(in.q.at(query), in.k.at(key), op.head_dim) * scale);
        }
        lse[(sequence * op.heads + head) * op.length + query] = static_cast<T>(softmax(weights));
        for (int64_t key = first_key; key <= query; ++key) {
          weights[static_cast<size_t>(key - first_key)] *=
              mask.factor(mask_element(op, head, query, key));
        }
        for (int64_t d = 0; d < op.head_dim; ++d) {
          double sum = 0;
          for (int64_t key = first_key; key <= query; ++key) {
            sum += weights[static_cast<size_t>(key - first_key)] * in.v.at(key)[d];
          }
          out.at(query)[d] = static_cast<T>(sum);
        }
      }
    }
  }
}

// For one query, with p the probabilities, f the dropout factors and o the context:
//   context = sum_key p f v          dv += p f do
//   dp = f (do . v)                  dscore = p (dp - sum_key p dp), and that sum is do . o
//   score = q . k scale              dq += dscore k scale     dk += dscore q scale
template <std::floating_point T>
void attention_backward(device::Stream&, const program::AttentionBackward& op,
                        const Arguments& arguments) {
  const T* dcontext = arguments.pointer<const T>(op.kDcontext);
  const T* qkv = arguments.pointer<const T>(op.kQkv);
  const T* context = arguments.pointer<const T>(op.kContext);
  const T* lse = arguments.pointer<const T>(op.kLse);
  const auto* segment_starts = arguments.pointer<const int32_t>(op.kSegmentStarts);
  const auto* samples = arguments.pointer<const int64_t>(op.kSamples);
  const int32_t seed = *arguments.pointer<const int32_t>(op.kSeed);
  T* dqkv = arguments.pointer<T>(op.kDqkv);
  const double scale = 1 / std::sqrt(static_cast<double>(op.head_dim));
  const auto elements = static_cast<size_t>(3 * op.context_elements());
  std::vector<double> sums(elements, 0.0);
  for (int64_t sequence = 0; sequence < op.sequences; ++sequence) {
    const DropoutMask mask(op.dropout, seed, arguments.layer, samples[sequence]);
    for (int64_t head = 0; head < op.heads; ++head) {
      const HeadQkv<const T> in(qkv, op, sequence, head);
      const HeadQkv<double> gradient(sums.data(), op, sequence, head);
      const HeadRows<const T> out = head_rows(context, op, sequence, head);
      const HeadRows<const T> dout = head_rows(dcontext, op, sequence, head);
      for (int64_t query = 0; query < op.length; ++query) {
        const double row_lse = lse[(sequence * op.heads + head) * op.length + query];
        const double row_sum = dot(dout.at(query), out.at(query), op.head_dim);
        for (int64_t key = segment_starts[query * op.sequences + sequence]; key <= query; ++key) {
          const double score = dot(in.q.at(query), in.k.at(key), op.head_dim) * scale;
          const double p = std::exp(score - row_lse);
          const double factor = mask.factor(mask_element(op, head, query, key));
          const double dp = factor * dot(dout.at(query), in.v.at(key), op.head_dim);
          const double dscore = p * (dp - row_sum);
          for (int64_t d = 0; d < op.head_dim; ++d) {
            gradient.q.at(query)[d] += dscore * in.k.at(key)[d] * scale;
            gradient.k.at(key)[d] += dscore * in.q.at(query)[d] * scale;
            gradient.v.at(key)[d] += p * factor * dout.at(query)[d];
          }
        }
      }
    }
  }
  for (size_t i = 0; i < elements; ++i) dqkv[i] = static_cast<T>(sums[i]);
}

template <std::floating_point T>
void attention_decode(device::Stream&, const program::AttentionDecode& op,
                      const Arguments& arguments) {
  const T* qkv = arguments.pointer<const T>(op.kQkv);
  const auto* places = arguments.pointer<const int32_t>(op.kPlaces);
  const auto* positions = arguments.pointer<const int32_t>(op.kPositions);
  T* keys = arguments.pointer<T>(op.kKeys);
  T* values = arguments.pointer<T>(op.kValues);
  T* context = arguments.pointer<T>(op.kContext);
  const double scale = 1 / std::sqrt(static_cast<double>(op.head_dim));
  const int64_t row_elements = op.heads * op.head_dim;
  const auto cache_of = [&](T* cache, int64_t row, int64_t head) -> HeadRows<T> {
    return {cache + (places[row] * op.heads + head) * op.capacity * op.head_dim, op.head_dim};
  };
  for (int64_t row = 0; row < op.rows; ++row) {
    if (places[row] < 0) continue;
    for (int64_t head = 0; head < op.heads; ++head) {
      const T* q = qkv + (row * op.heads + head) * 3 * op.head_dim;
      std::copy_n(q + op.head_dim, op.head_dim, cache_of(keys, row, head).at(positions[row]));
      std::copy_n(q + 2 * op.head_dim, op.head_dim, cache_of(values, row, head).at(positions[row]));
    }
  }
  std::fill_n(context, op.rows * row_elements, T{0});
  for (int64_t row = 0; row < op.rows; ++row) {
    if (places[row] < 0) continue;
    for (int64_t head = 0; head < op.heads; ++head) {
      const T* q = qkv + (row * op.heads + head) * 3 * op.head_dim;
      const HeadRows<T> k = cache_of(keys, row, head);
      const HeadRows<T> v = cache_of(values, row, head);
      std::vector<double> probabilities;
      for (int64_t key = 0; key <= positions[row]; ++key) {
        probabilities.push_back(dot(q, static_cast<const T*>(k.at(key)), op.head_dim) * scale);
      }
      softmax(probabilities);
      for (int64_t d = 0; d < op.head_dim; ++d) {
        double sum = 0;
        for (int64_t key = 0; key <= positions[row]; ++key) {
          sum += probabilities[static_cast<size_t>(key)] * v.at(key)[d];
        }
        context[row * row_elements + head * op.head_dim + d] = static_cast<T>(sum);
      }
    }
  }
}

}  // namespace

template <std::floating_point T>
void add_attention(KernelTable& table) {
  entry<program::Attention, attention<T>>(table);
  entry<program::AttentionBackward, attention_backward<T>>(table);
  entry<program::AttentionDecode, attention_decode<T>>(table);
}
template void add_attention<float>(KernelTable&);
template void add_attention<double>(KernelTable&);

}  // namespace trireme::ops::reference
