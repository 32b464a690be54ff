#include "program/op/stored_attention.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "ops/reference/dropout.h"
#include "ops/reference/heads.h"
#include "ops/reference/reference.h"

namespace trireme::ops::reference {
namespace {

// The rows of one head of one sequence within [b, heads, s, s].
template <class T>
HeadRows<T> score_rows(T* scores, const program::AttentionSizes& op, int64_t sequence,
                       int64_t head) {
  return {scores + (sequence * op.heads + head) * op.length * op.length, op.length};
}

template <class Body>
void over_heads(const program::AttentionSizes& op, const Body& body) {
  for (int64_t sequence = 0; sequence < op.sequences; ++sequence) {
    for (int64_t head = 0; head < op.heads; ++head) body(sequence, head);
  }
}

// out[query][key] = left[query] . right[key] for keys 0 .. query, zero for the others.
template <std::floating_point T>
void outer_product(const program::AttentionSizes& op, HeadRows<const T> left,
                   HeadRows<const T> right, HeadRows<T> out) {
  for (int64_t query = 0; query < op.length; ++query) {
    for (int64_t key = 0; key < op.length; ++key) {
      out.at(query)[key] =
          key <= query ? static_cast<T>(dot(left.at(query), right.at(key), op.head_dim)) : T{0};
    }
  }
}

// out[query] = sum over keys of matrix[query][key] by_key[key].
template <std::floating_point T>
void sum_over_keys(const program::AttentionSizes& op, HeadRows<const T> matrix,
                   HeadRows<const T> by_key, HeadRows<T> out) {
  for (int64_t query = 0; query < op.length; ++query) {
    for (int64_t d = 0; d < op.head_dim; ++d) {
      double sum = 0;
      for (int64_t key = 0; key <= query; ++key) {
        sum += double{matrix.at(query)[key]} * by_key.at(key)[d];
      }
      out.at(query)[d] = static_cast<T>(sum);
    }
  }
}

// out[key] = sum over queries of matrix[query][key] by_query[query].
template <std::floating_point T>
void sum_over_queries(const program::AttentionSizes& op, HeadRows<const T> matrix,
                      HeadRows<const T> by_query, HeadRows<T> out) {
  for (int64_t key = 0; key < op.length; ++key) {
    for (int64_t d = 0; d < op.head_dim; ++d) {
      double sum = 0;
      for (int64_t query = key; query < op.length; ++query) {
        sum += double{matrix.at(query)[key]} * by_query.at(query)[d];
      }
      out.at(key)[d] = static_cast<T>(sum);
    }
  }
}

template <std::floating_point T>
void attention_scores(device::Stream&, const program::AttentionScores& op,
                      const Arguments& arguments) {
  over_heads(op, [&](int64_t sequence, int64_t head) {
    const HeadQkv<const T> in(arguments.pointer<const T>(op.kQkv), op, sequence, head);
    outer_product<T>(op, in.q, in.k,
                     score_rows(arguments.pointer<T>(op.kScores), op, sequence, head));
  });
}

template <std::floating_point T>
void attention_scores_backward(device::Stream&, const program::AttentionScoresBackward& op,
                               const Arguments& arguments) {
  over_heads(op, [&](int64_t sequence, int64_t head) {
    const auto dscores = score_rows(arguments.pointer<const T>(op.kDscores), op, sequence, head);
    const HeadQkv<const T> in(arguments.pointer<const T>(op.kQkv), op, sequence, head);
    const HeadQkv<T> out(arguments.pointer<T>(op.kDqkv), op, sequence, head);
    sum_over_keys<T>(op, dscores, in.k, out.q);
    sum_over_queries<T>(op, dscores, in.q, out.k);
  });
}

template <std::floating_point T>
void scale_mask_softmax(device::Stream&, const program::ScaleMaskSoftmax& op,
                        const Arguments& arguments) {
  const auto* segment_starts = arguments.pointer<const int32_t>(op.kSegmentStarts);
  const auto* samples = arguments.pointer<const int64_t>(op.kSamples);
  const int32_t seed = *arguments.pointer<const int32_t>(op.kSeed);
  T* kept = arguments.pointer<T>(op.kKept);
  const double scale = 1 / std::sqrt(static_cast<double>(op.head_dim));
  over_heads(op, [&](int64_t sequence, int64_t head) {
    const DropoutMask mask(op.dropout, seed, arguments.layer, samples[sequence]);
    const auto in = score_rows(arguments.pointer<const T>(op.kScores), op, sequence, head);
    const auto out = score_rows(arguments.pointer<T>(op.kProbabilities), op, sequence, head);
    for (int64_t query = 0; query < op.length; ++query) {
      const int64_t first = op.documents ? segment_starts[query * op.sequences + sequence] : 0;
      const auto attends = [&](int64_t key) { return first <= key && key <= query; };
      const double maximum =
          *std::max_element(in.at(query) + first, in.at(query) + query + 1) * scale;
      std::vector<double> exponentials(static_cast<size_t>(op.length), 0.0);
      double sum = 0;
      for (int64_t key = first; key <= query; ++key) {
        const double e = std::exp(in.at(query)[key] * scale - maximum);
        exponentials[static_cast<size_t>(key)] = e;
        sum += e;
      }
      for (int64_t key = 0; key < op.length; ++key) {
        const double p = exponentials[static_cast<size_t>(key)] / sum;
        out.at(query)[key] = static_cast<T>(p);
        if (op.dropout.probability == 0) continue;
        score_rows(kept, op, sequence, head).at(query)[key] =
            attends(key) ? static_cast<T>(p * mask.factor(mask_element(op, head, query, key)))
                         : T{0};
      }
    }
  });
}

template <std::floating_point T>
void scale_mask_softmax_backward(device::Stream&, const program::ScaleMaskSoftmaxBackward& op,
                                 const Arguments& arguments) {
  const auto* samples = arguments.pointer<const int64_t>(op.kSamples);
  const int32_t seed = *arguments.pointer<const int32_t>(op.kSeed);
  const double scale = 1 / std::sqrt(static_cast<double>(op.head_dim));
  over_heads(op, [&](int64_t sequence, int64_t head) {
    const DropoutMask mask(op.dropout, seed, arguments.layer, samples[sequence]);
    const auto dkept = score_rows(arguments.pointer<const T>(op.kDkept), op, sequence, head);
    const auto probabilities =
        score_rows(arguments.pointer<const T>(op.kProbabilities), op, sequence, head);
    const auto dscores = score_rows(arguments.pointer<T>(op.kDscores), op, sequence, head);
    for (int64_t query = 0; query < op.length; ++query) {
      const T* p = probabilities.at(query);
      std::vector<double> dp(static_cast<size_t>(op.length), 0.0);
      double sum = 0;
      for (int64_t key = 0; key <= query; ++key) {
        const double d = dkept.at(query)[key] * mask.factor(mask_element(op, head, query, key));
        dp[static_cast<size_t>(key)] = d;
        sum += p[key] * d;
      }
      for (int64_t key = 0; key < op.length; ++key) {
        const double d = dp[static_cast<size_t>(key)];
        dscores.at(query)[key] = key <= query ? static_cast<T>(p[key] * (d - sum) * scale) : T{0};
      }
    }
  });
}

template <std::floating_point T>
void attention_context(device::Stream&, const program::AttentionContext& op,
                       const Arguments& arguments) {
  over_heads(op, [&](int64_t sequence, int64_t head) {
    const HeadQkv<const T> in(arguments.pointer<const T>(op.kQkv), op, sequence, head);
    sum_over_keys<T>(op, score_rows(arguments.pointer<const T>(op.kKept), op, sequence, head), in.v,
                     head_rows(arguments.pointer<T>(op.kContext), op, sequence, head));
  });
}

template <std::floating_point T>
void attention_context_backward(device::Stream&, const program::AttentionContextBackward& op,
                                const Arguments& arguments) {
  over_heads(op, [&](int64_t sequence, int64_t head) {
    const auto dcontext = head_rows(arguments.pointer<const T>(op.kDcontext), op, sequence, head);
    const HeadQkv<const T> in(arguments.pointer<const T>(op.kQkv), op, sequence, head);
    const HeadQkv<T> out(arguments.pointer<T>(op.kDqkv), op, sequence, head);
    outer_product<T>(op, dcontext, in.v,
                     score_rows(arguments.pointer<T>(op.kDkept), op, sequence, head));
    sum_over_queries<T>(op, score_rows(arguments.pointer<const T>(op.kKept), op, sequence, head),
                        dcontext, out.v);
  });
}

}  // namespace

template <std::floating_point T>
void add_stored_attention(KernelTable& table) {
  entry<program::AttentionScores, attention_scores<T>>(table);
  entry<program::AttentionScoresBackward, attention_scores_backward<T>>(table);
  entry<program::ScaleMaskSoftmax, scale_mask_softmax<T>>(table);
  entry<program::ScaleMaskSoftmaxBackward, scale_mask_softmax_backward<T>>(table);
  entry<program::AttentionContext, attention_context<T>>(table);
  entry<program::AttentionContextBackward, attention_context_backward<T>>(table);
}
template void add_stored_attention<float>(KernelTable&);
template void add_stored_attention<double>(KernelTable&);

}  // namespace trireme::ops::reference
