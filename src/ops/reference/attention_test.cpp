#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ops/reference/wide_op.h"

namespace trireme::ops::reference {
namespace {

using program::Attention;
using program::AttentionBackward;
using program::AttentionDecode;
using program::AttentionSizes;

program::Dropout dropout_of(double probability) {
  return {.site = RandomSite::attention_dropout, .probability = probability};
}

// Index of q (part 0), k (1) or v (2) in [s, b, heads, 3, head_dim].
size_t qkv_index(const AttentionSizes& op, int64_t position, int64_t sequence, int64_t head,
                 int64_t part, int64_t d) {
  const int64_t row = (position * op.sequences + sequence) * op.heads + head;
  return static_cast<size_t>((row * 3 + part) * op.head_dim + d);
}
size_t context_index(const AttentionSizes& op, int64_t position, int64_t sequence, int64_t head,
                     int64_t d) {
  const int64_t row = (position * op.sequences + sequence) * op.heads + head;
  return static_cast<size_t>(row * op.head_dim + d);
}

struct GradientCase {
  double probability;
  bool documents;
};
class AttentionGradient : public ::testing::TestWithParam<GradientCase> {};

TEST_P(AttentionGradient, EqualsFiniteDifferences) {
  const AttentionSizes op{.length = 7,
                          .sequences = 2,
                          .heads = 2,
                          .first_head = 1,
                          .head_dim = 4,
                          .dropout = dropout_of(GetParam().probability)};
  const testing::Case c{.op = Attention{op}, .documents = GetParam().documents, .layer = 3};
  WideOp forward(c);
  const std::vector<double> weights = loss_weights(static_cast<size_t>(op.context_elements()));
  const auto loss = [&] {
    forward.run();
    return weighted_sum(weights, forward[Attention::kContext]);
  };
  loss();

  testing::Case backward_case = c;
  backward_case.op = AttentionBackward{op};
  WideOp backward(backward_case);
  backward[AttentionBackward::kDcontext] = weights;
  backward[AttentionBackward::kQkv] = forward[Attention::kQkv];
  backward[AttentionBackward::kContext] = forward[Attention::kContext];
  backward[AttentionBackward::kLse] = forward[Attention::kLse];
  backward.run();
  expect_gradient(backward[AttentionBackward::kDqkv],
                  numerical_gradient(forward[Attention::kQkv], loss), "dqkv");
}

INSTANTIATE_TEST_SUITE_P(DropoutAndDocuments, AttentionGradient,
                         ::testing::Values(GradientCase{0, false}, GradientCase{0.3, false},
                                           GradientCase{0, true}, GradientCase{0.3, true}));

TEST(Attention, OfTheFirstTokenCopiesItsValue) {
  const AttentionSizes op{.length = 3, .sequences = 2, .heads = 2, .head_dim = 4};
  WideOp attention({.op = Attention{op}});
  attention.run();
  for (int64_t sequence = 0; sequence < 2; ++sequence) {
    for (int64_t head = 0; head < 2; ++head) {
      double score = 0;
      for (int64_t d = 0; d < 4; ++d) {
        EXPECT_EQ(attention[Attention::kContext][context_index(op, 0, sequence, head, d)],
                  attention[Attention::kQkv][qkv_index(op, 0, sequence, head, 2, d)]);
        score += attention[Attention::kQkv][qkv_index(op, 0, sequence, head, 0, d)] *
                 attention[Attention::kQkv][qkv_index(op, 0, sequence, head, 1, d)];
      }
      EXPECT_NEAR(attention[Attention::kLse][static_cast<size_t>((sequence * 2 + head) * 3)],
                  score / 2, 1e-14);
    }
  }
}

TEST(Attention, WithEqualScoresAveragesTheValuesSoFar) {
  const AttentionSizes op{.length = 5, .sequences = 1, .heads = 1, .head_dim = 2};
  WideOp attention({.op = Attention{op}});
  for (int64_t i = 0; i < 5; ++i) {
    for (int64_t d = 0; d < 2; ++d) attention[Attention::kQkv][qkv_index(op, i, 0, 0, 0, d)] = 0;
  }
  attention.run();
  double sum = 0;
  for (int64_t i = 0; i < 5; ++i) {
    sum += attention[Attention::kQkv][qkv_index(op, i, 0, 0, 2, 1)];
    EXPECT_NEAR(attention[Attention::kContext][context_index(op, i, 0, 0, 1)],
                sum / static_cast<double>(i + 1), 1e-14);
    EXPECT_NEAR(attention[Attention::kLse][static_cast<size_t>(i)],
                std::log(static_cast<double>(i + 1)), 1e-14);
  }
}

TEST(Attention, DoesNotLookAhead) {
  const AttentionSizes op{
      .length = 6, .sequences = 1, .heads = 1, .head_dim = 3, .dropout = dropout_of(0.2)};
  WideOp attention({.op = Attention{op}});
  attention.run();
  const std::vector<double> before = attention[Attention::kContext];
  for (int64_t part = 0; part < 3; ++part) {
    attention[Attention::kQkv][qkv_index(op, 4, 0, 0, part, 1)] += 1;
  }
  attention.run();
  const std::vector<double>& after = attention[Attention::kContext];
  EXPECT_TRUE(std::equal(before.begin(), before.begin() + 12, after.begin()));
  EXPECT_FALSE(std::equal(before.begin() + 12, before.end(), after.begin() + 12));
}

TEST(Attention, OverSeparatedDocumentsIsThatOfEachAlone) {
  const AttentionSizes op{.length = 9, .sequences = 2, .heads = 1, .head_dim = 4};
  WideOp packed({.op = Attention{op}});
  // Documents of 9 tokens, and of 3, 1 and 5.
  const int32_t second[] = {0, 0, 0, 3, 4, 4, 4, 4, 4};
  for (size_t i = 0; i < 9; ++i) {
    packed.as<int32_t>(Attention::kSegmentStarts)[2 * i] = 0;
    packed.as<int32_t>(Attention::kSegmentStarts)[2 * i + 1] = second[i];
  }
  packed.run();
  for (const auto& [first, length] : {std::pair<int64_t, int64_t>{0, 3}, {3, 1}, {4, 5}}) {
    const AttentionSizes own{.length = length, .sequences = 1, .heads = 1, .head_dim = 4};
    WideOp alone({.op = Attention{own}});
    for (int64_t i = 0; i < length; ++i) {
      for (int64_t part = 0; part < 3; ++part) {
        for (int64_t d = 0; d < 4; ++d) {
          alone[Attention::kQkv][qkv_index(own, i, 0, 0, part, d)] =
              packed[Attention::kQkv][qkv_index(op, first + i, 1, 0, part, d)];
        }
      }
    }
    alone.run();
    for (int64_t i = 0; i < length; ++i) {
      for (int64_t d = 0; d < 4; ++d) {
        EXPECT_EQ(alone[Attention::kContext][context_index(own, i, 0, 0, d)],
                  packed[Attention::kContext][context_index(op, first + i, 1, 0, d)]);
      }
    }
  }
}

TEST(Attention, OfARanksHeadsIsASliceOfAllHeads) {
  const AttentionSizes op{
      .length = 6, .sequences = 2, .heads = 4, .head_dim = 3, .dropout = dropout_of(0.4)};
  WideOp whole({.op = Attention{op}});
  whole.run();
  for (const int64_t first : {0, 2}) {
    AttentionSizes own = op;
    own.heads = 2;
    own.first_head = first;
    WideOp shard({.op = Attention{own}});
    for (int64_t i = 0; i < 12; ++i) {  // positions and sequences
      for (int64_t head = 0; head < 2; ++head) {
        for (int64_t k = 0; k < 9; ++k) {
          shard[Attention::kQkv][static_cast<size_t>((i * 2 + head) * 9 + k)] =
              whole[Attention::kQkv][static_cast<size_t>((i * 4 + first + head) * 9 + k)];
        }
      }
    }
    shard.run();
    for (int64_t i = 0; i < 12; ++i) {
      for (int64_t k = 0; k < 6; ++k) {
        EXPECT_EQ(shard[Attention::kContext][static_cast<size_t>(i * 6 + k)],
                  whole[Attention::kContext][static_cast<size_t>((i * 4 + first) * 3 + k)]);
      }
    }
  }
}

TEST(Attention, DropsProbabilitiesByTheRandomFormat) {
  const AttentionSizes op{.length = 6,
                          .sequences = 1,
                          .heads = 2,
                          .first_head = 5,
                          .head_dim = 6,
                          .dropout = dropout_of(0.5)};
  WideOp attention({.op = Attention{op}, .layer = 4});
  attention.as<int32_t>(Attention::kSeed)[0] = 99;
  attention.as<int64_t>(Attention::kSamples)[0] = 123;
  // Equal scores and one-hot values: the context shows each probability by itself.
  for (int64_t i = 0; i < 6; ++i) {
    for (int64_t head = 0; head < 2; ++head) {
      for (int64_t d = 0; d < 6; ++d) {
        attention[Attention::kQkv][qkv_index(op, i, 0, head, 0, d)] = 0;
        attention[Attention::kQkv][qkv_index(op, i, 0, head, 2, d)] = i == d ? 1 : 0;
      }
    }
  }
  attention.run();
  const RandomStream stream{
      .seed = 99, .site = RandomSite::attention_dropout, .layer = 4, .sample = 123};
  for (int64_t head = 0; head < 2; ++head) {
    for (int64_t query = 0; query < 6; ++query) {
      for (int64_t key = 0; key <= query; ++key) {
        // Rows of 6 keys start at multiples of 8; heads are counted over all ranks.
        const auto element = static_cast<uint64_t>(((5 + head) * 6 + query) * 8 + key);
        const bool kept = stream.bits(element) >= 0x80000000U;
        EXPECT_NEAR(attention[Attention::kContext][context_index(op, query, 0, head, key)],
                    kept ? 2 / static_cast<double>(query + 1) : 0, 1e-14);
      }
    }
  }
}

TEST(AttentionDecode, TokenByTokenEqualsAttentionOverTheSequence) {
  const AttentionSizes op{.length = 8, .sequences = 2, .heads = 2, .head_dim = 4};
  WideOp attention({.op = Attention{op}});
  attention.run();
  WideOp decode(
      {.op = AttentionDecode{.rows = 2, .places = 2, .heads = 2, .head_dim = 4, .capacity = 10},
       .id_limit = 10});
  const auto places = decode.as<int32_t>(AttentionDecode::kPlaces);
  places[0] = 1;  // rows and places in any order
  places[1] = 0;
  for (int32_t position = 0; position < 8; ++position) {
    const auto token = attention[Attention::kQkv].begin() + position * 48;
    std::copy_n(token, 48, decode[AttentionDecode::kQkv].begin());
    const auto positions = decode.as<int32_t>(AttentionDecode::kPositions);
    std::fill(positions.begin(), positions.end(), position);
    decode.run();
    for (size_t i = 0; i < 16; ++i) {
      EXPECT_DOUBLE_EQ(decode[AttentionDecode::kContext][i],
                       attention[Attention::kContext][static_cast<size_t>(position) * 16 + i]);
    }
  }
}

TEST(AttentionDecode, TakesManyTokensOfASequenceAtOnceInAnyOrderAndLeavesRowsOfNoneZero) {
  const AttentionSizes op{.length = 8, .sequences = 1, .heads = 2, .head_dim = 4};
  WideOp attention({.op = Attention{op}});
  attention.run();
  WideOp decode(
      {.op = AttentionDecode{.rows = 9, .places = 1, .heads = 2, .head_dim = 4, .capacity = 8},
       .id_limit = 8});
  const std::vector<int32_t> order = {3, 0, 7, 1, 2, 6, 5, 4};
  for (size_t row = 0; row < 9; ++row) {
    const bool is_none = row == 8;
    decode.as<int32_t>(AttentionDecode::kPlaces)[row] = is_none ? -1 : 0;
    decode.as<int32_t>(AttentionDecode::kPositions)[row] = is_none ? 0 : order[row];
    if (is_none) continue;
    std::copy_n(attention[Attention::kQkv].begin() + order[row] * 24, 24,
                decode[AttentionDecode::kQkv].begin() + static_cast<std::ptrdiff_t>(row) * 24);
  }
  decode.run();
  for (size_t row = 0; row < 9; ++row) {
    for (size_t i = 0; i < 8; ++i) {
      const double expected =
          row == 8 ? 0 : attention[Attention::kContext][static_cast<size_t>(order[row]) * 8 + i];
      EXPECT_DOUBLE_EQ(decode[AttentionDecode::kContext][row * 8 + i], expected);
    }
  }
}

}  // namespace
}  // namespace trireme::ops::reference
