#include <gtest/gtest.h>

#include "ops/reference/reference.h"
#include "ops/reference/wide_op.h"
#include "ops/testing/case.h"

namespace trireme::ops::reference {
namespace {

TEST(ReferenceKernels, ExistForEveryOpKindButTheCollectives) {
  for (size_t kind = 0; kind < program::kOpKinds; ++kind) {
    const bool expected = !program::is_collective(kind);
    EXPECT_EQ(reference_kernels().kernels[kind] != nullptr, expected) << kind;
    EXPECT_EQ(reference_kernels_in_double().kernels[kind] != nullptr, expected) << kind;
  }
}

TEST(ReferenceKernels, AddToGradientsOrOverwriteThem) {
  int tried = 0;
  for (const testing::Case& accumulated : testing::cases_for_tests()) {
    if (!accumulated.accumulate) continue;
    testing::Case overwritten = accumulated;
    overwritten.accumulate = false;
    WideOp once(overwritten);
    once.run();
    WideOp twice(accumulated);  // the same inputs
    const std::vector<program::Operand> operands = program::operands_of(accumulated.op);
    for (int i = 0; i < static_cast<int>(operands.size()); ++i) {
      if (operands[static_cast<size_t>(i)].access != program::Access::add) continue;
      std::fill(twice[i].begin(), twice[i].end(), 0.0);
    }
    twice.run();
    twice.run();
    for (int i = 0; i < static_cast<int>(operands.size()); ++i) {
      if (operands[static_cast<size_t>(i)].access != program::Access::add) continue;
      ++tried;
      for (size_t k = 0; k < once[i].size(); ++k) {
        ASSERT_NEAR(twice[i][k], 2 * once[i][k], 1e-12)
            << accumulated.name << ": " << operands[static_cast<size_t>(i)].name << "[" << k << "]";
      }
    }
  }
  EXPECT_GT(tried, 20);
}

}  // namespace
}  // namespace trireme::ops::reference
