#include "ops/cpu/multiply.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "ops/cpu/targets.h"
#include "ops/cpu/tiles.h"
// clang-format off
#include <hwy/highway.h>
// clang-format on

namespace trireme::ops::cpu {
namespace {

struct Sizes {
  int64_t rows, columns, terms;
};

// How the factors are stored: those of forward, input gradient and weight gradient, and the one
// that no op has.
struct Storage {
  bool left_by_term, right_by_term;
};
constexpr Storage kStorages[] = {{false, false}, {false, true}, {true, true}, {true, false}};

enum class Start { zero, bias, accumulate };

// Whole blocks and panels of every kind of vector unit, one less and one more; few rows; more terms
// than a block has; more columns than a
// panel, and than a tile.
constexpr Sizes kSizes[] = {{1, 1, 1},      {1, 100, 385}, {3, 70, 22},    {4, 129, 768},
                            {5, 64, 1155},  {2, 48, 384},  {3, 47, 383},   {7, 49, 769},
                            {8, 16, 10},    {9, 193, 400}, {17, 200, 770}, {97, 65, 1000},
                            {200, 33, 500}, {40, 5, 1200}, {9, 800, 390}};

// Small whole numbers over 1000 that share no pattern with any block.
std::vector<float> values(int64_t count, int64_t salt) {
  std::vector<float> result(static_cast<size_t>(count));
  for (size_t i = 0; i < result.size(); ++i) {
    const auto x = static_cast<uint64_t>(salt) + i;
    result[i] = static_cast<float>(static_cast<int64_t>(x * 7919 % 2003) - 1001) / 1000;
  }
  return result;
}

// A product with its matrices at an odd place in memory and guards around what it may write.
class Problem {
 public:
  Problem(const Sizes& sizes, const Storage& storage, Start start)
      : sizes_(sizes),
        storage_(storage),
        start_(start),
        left_(values(sizes.rows * sizes.terms + 1, 1)),
        right_(values(sizes.terms * sizes.columns + 1, 2)),
        bias_(values(sizes.columns + 1, 3)),
        old_(values(sizes.rows * sizes.columns, 4)) {}

  [[nodiscard]] std::vector<float> run(int threads) const {
    constexpr size_t kGuard = 64;
    constexpr float kUntouched = 12345;
    std::vector<float> out(old_.size() + 2 * kGuard, kUntouched);
    if (start_ == Start::accumulate) {
      std::copy(old_.begin(), old_.end(), out.begin() + kGuard);
    }
    const Multiplication product = {
        .rows = sizes_.rows,
        .columns = sizes_.columns,
        .terms = sizes_.terms,
        .left = {left_.data() + 1, storage_.left_by_term ? sizes_.rows : sizes_.terms,
                 storage_.left_by_term},
        .right = {right_.data() + 1, storage_.right_by_term ? sizes_.columns : sizes_.terms,
                  storage_.right_by_term},
        .bias = start_ == Start::bias ? bias_.data() + 1 : nullptr,
        .accumulate = start_ == Start::accumulate,
        .out = out.data() + kGuard};
    const auto room = static_cast<size_t>(workspace_bytes(product, threads)) / sizeof(float);
    std::vector<float> workspace(room + 2 * kGuard, kUntouched);
    float* begin = workspace.data() + kGuard / 2;
    begin += (64 - reinterpret_cast<uintptr_t>(begin) % 64) / sizeof(float) % 16;
    ThreadPool pool(threads);
    multiply(pool, product, reinterpret_cast<std::byte*>(begin));
    for (const float* at = workspace.data(); at < workspace.data() + workspace.size(); ++at) {
      const bool inside = at >= begin && at < begin + room;
      EXPECT_TRUE(inside || *at == kUntouched) << "beside the workspace";
    }
    for (size_t i = 0; i < kGuard; ++i) {
      EXPECT_EQ(out[i], kUntouched) << "before the output";
      EXPECT_EQ(out[out.size() - 1 - i], kUntouched) << "behind the output";
    }
    return {out.begin() + kGuard, out.end() - kGuard};
  }

  // The contract in plain words: blocks of terms, each a chain of multiply-adds, added in order.
  [[nodiscard]] std::vector<float> specified(bool fused) const {
    std::vector<float> out(old_.size());
    for (int64_t row = 0; row < sizes_.rows; ++row) {
      for (int64_t column = 0; column < sizes_.columns; ++column) {
        const auto at = static_cast<size_t>(row * sizes_.columns + column);
        float result = start_ == Start::accumulate ? old_[at] : 0.0F;
        if (start_ == Start::bias) result = bias_[static_cast<size_t>(column) + 1];
        for (int64_t first = 0; first < sizes_.terms; first += kProductTerms) {
          float sum = 0;
          for (int64_t k = first; k < std::min(first + kProductTerms, sizes_.terms); ++k) {
            const float a = left_[static_cast<size_t>(
                1 + (storage_.left_by_term ? k * sizes_.rows + row : row * sizes_.terms + k))];
            const float b = right_[static_cast<size_t>(1 + (storage_.right_by_term
                                                                ? k * sizes_.columns + column
                                                                : column * sizes_.terms + k))];
            sum = fused ? std::fma(a, b, sum) : sum + a * b;
          }
          result += sum;
        }
        out[at] = result;
      }
    }
    return out;
  }

 private:
  Sizes sizes_;
  Storage storage_;
  Start start_;
  std::vector<float> left_, right_, bias_, old_;
};

template <class Body>
void over_problems(const Body& body) {
  for (const Sizes& sizes : kSizes) {
    for (const Storage& storage : kStorages) {
      for (const Start start : {Start::zero, Start::bias, Start::accumulate}) {
        SCOPED_TRACE(::testing::Message()
                     << sizes.rows << " x " << sizes.columns << ", " << sizes.terms << " terms, by "
                     << storage.left_by_term << storage.right_by_term << ", start "
                     << static_cast<int>(start));
        body(Problem(sizes, storage, start));
      }
    }
  }
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

class Multiply : public ::testing::TestWithParam<int64_t> {
 protected:
  void SetUp() override { choose(GetParam()); }
  void TearDown() override { choose(0); }

 private:
  static void choose(int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

// So kinds of vector unit with FMA agree with each other too.
TEST_P(Multiply, GivesTheBitsOfTheSpecifiedOrderOfSums) {
  const bool fused = GetParam() != HWY_SSE4;
  over_problems([&](const Problem& problem) {
    EXPECT_TRUE(same_bits(problem.run(1), problem.specified(fused)));
  });
}

TEST_P(Multiply, GivesTheSameBitsForEveryNumberOfThreads) {
  for (const Storage& storage : kStorages) {
    const Problem problem({250, 300, 450}, storage, Start::zero);
    const std::vector<float> one = problem.run(1);
    for (const int threads : {2, 3}) EXPECT_TRUE(same_bits(one, problem.run(threads)));
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Multiply,
                         ::testing::ValuesIn(hwy::SupportedAndGeneratedTargets()),
                         [](const auto& test) { return hwy::TargetName(test.param); });

// What cuts outputs (columns of a column-parallel layer, fewer tokens at a time) cuts no sums.
TEST(Multiply, GivesAnElementTheSameBitsInAPartOfTheProduct) {
  constexpr int64_t kRows = 37;
  constexpr int64_t kColumns = 120;
  constexpr int64_t kTerms = 700;
  const std::vector<float> left = values(kRows * kTerms, 5);
  const std::vector<float> right = values(kColumns * kTerms, 6);
  ThreadPool pool(2);
  const auto run = [&](int64_t first_row, int64_t rows, int64_t first_column, int64_t columns) {
    std::vector<float> out(static_cast<size_t>(rows * columns));
    const Multiplication product = {.rows = rows,
                                    .columns = columns,
                                    .terms = kTerms,
                                    .left = {left.data() + first_row * kTerms, kTerms},
                                    .right = {right.data() + first_column * kTerms, kTerms},
                                    .out = out.data()};
    std::vector<std::byte> workspace(static_cast<size_t>(workspace_bytes(product, 2)) + 64);
    const auto begin = reinterpret_cast<uintptr_t>(workspace.data());
    multiply(pool, product, workspace.data() + (64 - begin % 64) % 64);
    return out;
  };
  const std::vector<float> whole = run(0, kRows, 0, kColumns);
  for (const int64_t row : {0, 5, 36}) {
    for (const int64_t column : {0, 60, 101}) {
      const int64_t rows = std::min<int64_t>(kRows - row, 9);
      const int64_t columns = std::min<int64_t>(kColumns - column, 60);
      const std::vector<float> part = run(row, rows, column, columns);
      for (int64_t i = 0; i < rows * columns; ++i) {
        const int64_t at = (row + i / columns) * kColumns + column + i % columns;
        ASSERT_EQ(part[static_cast<size_t>(i)], whole[static_cast<size_t>(at)]) << i;
      }
    }
  }
}

TEST(Multiply, NeedsTheWorkspaceThatThePlannerCounts) {
  for (const int threads : {1, 2, 7}) {
    const program::BackendProfile profile = {.threads = threads};
    for (const Sizes& sizes : {Sizes{1, 64, 64}, Sizes{1024, 768, 3072}, Sizes{2048, 50304, 768}}) {
      Multiplication product = {.rows = sizes.rows, .columns = sizes.columns, .terms = sizes.terms};
      EXPECT_EQ(workspace_bytes(product, threads),
                (program::Product{.rows = sizes.rows, .in = sizes.terms, .out = sizes.columns})
                    .workspace_bytes(profile));
      EXPECT_EQ(workspace_bytes(product, threads),
                (program::ProductInputGradient{
                     .rows = sizes.rows, .in = sizes.columns, .out = sizes.terms})
                    .workspace_bytes(profile));
      product.left.by_term = true;
      EXPECT_EQ(workspace_bytes(product, threads),
                (program::ProductWeightGradient{
                     .rows = sizes.terms, .in = sizes.columns, .out = sizes.rows})
                    .workspace_bytes(profile));
      EXPECT_LE(workspace_bytes(product, threads), threads * (1300 << 10));
    }
  }
}

TEST(TileCut, KeepsTheThreadsBusyOnTheProductsOfAGpt) {
  for (const int64_t rows : {512, 768, 1024, 2048}) {
    for (const int64_t columns : {384, 768, 2304, 3072}) {
      for (const int threads : {1, 2, 3, 4, 6, 8}) {
        for (const bool packed : {false, true}) {
          const TileCut cut = cut_tiles(rows, columns, packed, threads);
          ASSERT_GT(cut.rows, 0);
          ASSERT_GT(cut.columns, 0);
          ASSERT_LE(cut.columns, program::product_columns(packed));
          ASSERT_EQ(cut.columns % kProductPanel, 0);
          const int64_t tiles =
              ((rows + cut.rows - 1) / cut.rows) * ((columns + cut.columns - 1) / cut.columns);
          // What a thread at most does, beside its even share of the output.
          const double most = std::ceil(static_cast<double>(tiles) / threads) * threads *
                              static_cast<double>(std::min(cut.rows, rows) * cut.columns);
          EXPECT_LE(most, 1.35 * static_cast<double>(rows * columns))
              << rows << " x " << columns << " on " << threads << ": " << cut.rows << " x "
              << cut.columns;
        }
      }
    }
  }
}

}  // namespace
}  // namespace trireme::ops::cpu
