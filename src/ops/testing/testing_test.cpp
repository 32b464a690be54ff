// The harness itself: it must see what it is there to see.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "device/cpu/cpu_device.h"
#include "ops/testing/compare.h"
#include "ops/testing/trial.h"

namespace trireme::ops::testing {
namespace {

const Case& case_named(const std::string& name) {
  static const std::vector<Case> cases = cases_for_tests();
  const auto found =
      std::find_if(cases.begin(), cases.end(), [&](const Case& c) { return c.name == name; });
  TRIREME_ASSERT(found != cases.end(), name);
  return *found;
}

// Runs a case with a kernel of the test's own.
template <class Spec, void (*Function)(device::Stream&, const Spec&, const Arguments&)>
Outcome run_with(const Case& c) {
  device::CpuDevice device(1);
  KernelTable table;
  entry<Spec, Function>(table);
  return run(c, {.device = &device, .kernels = &table, .profile = {}});
}

TEST(Cases, CoverEveryOpKindButTheCollectives) {
  std::set<size_t> tested;
  std::set<size_t> benched;
  for (const Case& c : cases_for_tests()) tested.insert(c.op.index());
  for (const Case& c : cases_for_bench()) benched.insert(c.op.index());
  for (size_t kind = 0; kind < program::kOpKinds; ++kind) {
    EXPECT_EQ(tested.count(kind), program::is_collective(kind) ? 0U : 1U) << kind;
    EXPECT_EQ(benched.count(kind), program::is_collective(kind) ? 0U : 1U) << kind;
  }
}

TEST(Cases, HaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const Case& c : cases_for_tests()) EXPECT_TRUE(names.insert(c.name).second) << c.name;
}

TEST(Cases, TryEveryDropoutInAccumulationAndInPlace) {
  int accumulated = 0;
  int in_place = 0;
  for (const Case& c : cases_for_tests()) {
    accumulated += c.accumulate ? 1 : 0;
    in_place += c.in_place ? 1 : 0;
  }
  EXPECT_GT(accumulated, 10);
  EXPECT_GT(in_place, 5);
}

TEST(Inputs, NameOtherShardsTokensAndMaskSomeLosses) {
  const HostOperands lookup =
      inputs_of(case_named("embedding_lookup 150 tokens, h 64, rows 40 "
                           "from 40 of 77"));
  const auto tokens = lookup.as<int32_t>(program::EmbeddingLookup::kTokens);
  EXPECT_TRUE(std::any_of(tokens.begin(), tokens.end(), [](int32_t id) { return id < 40; }));
  EXPECT_TRUE(std::any_of(tokens.begin(), tokens.end(), [](int32_t id) { return id >= 40; }));
  const HostOperands loss =
      inputs_of(case_named("cross_entropy 33 rows, 101 words from 0 of 101 in 128 columns"));
  const auto mask = loss.as<float>(program::CrossEntropy::kLossMask);
  EXPECT_GT(std::count(mask.begin(), mask.end(), 0.0F), 3);
  EXPECT_GT(std::count(mask.begin(), mask.end(), 1.0F), 3);
}

TEST(Inputs, SeparateDocumentsAtOrBeforeEachQuery) {
  const Case& c = case_named("attention s 33 b 2 heads 3 of 16, p 0.1, documents");
  const HostOperands operands = inputs_of(c);
  const auto starts = operands.as<int32_t>(program::Attention::kSegmentStarts);
  std::set<int32_t> documents;
  for (int32_t query = 0; query < 33; ++query) {
    for (size_t sequence = 0; sequence < 2; ++sequence) {
      const size_t i = static_cast<size_t>(query) * 2 + sequence;
      EXPECT_LE(starts[i], query);
      // A start is the start of its own document, and documents do not overlap.
      EXPECT_EQ(starts[static_cast<size_t>(starts[i]) * 2 + sequence], starts[i]);
      EXPECT_TRUE(query == 0 || starts[i] == starts[i - 2] || starts[i] == query);
      if (sequence == 0) documents.insert(starts[i]);
    }
  }
  EXPECT_GT(documents.size(), 3U);
}

TEST(Trial, PassesTheReferenceWithEveryElementWritten) {
  for (const Case& c : cases_for_tests()) {
    const Outcome outcome = run_reference(c);
    EXPECT_TRUE(outcome.violations.empty()) << outcome.violations[0];
    const Comparison same = compare(c, outcome, outcome);
    EXPECT_TRUE(same.within) << same.text;
    for (int i = 0; i < outcome.operands.count(); ++i) {
      const program::Operand& operand = outcome.operands.declared()[static_cast<size_t>(i)];
      if (operand.dtype != DType::f32) continue;
      for (const float x : outcome.operands.as<float>(i)) {
        ASSERT_FALSE(std::isnan(x)) << c.name << ": " << operand.name;
      }
    }
  }
}

TEST(Trial, GivesTheSameBitsBehindAnyBoundary) {
  for (const Case& c : cases_for_tests()) {
    if (program::cost_of(c.op).flops > 1e6) continue;
    device::CpuDevice device(1);
    const Backend backend{.device = &device, .kernels = &reference_kernels(), .profile = {}};
    const Comparison same = compare_bits(c, run(c, backend), run(c, backend, 3));
    EXPECT_TRUE(same.within) << same.text;
  }
}

void writes_past_the_end(device::Stream& stream, const program::AddInto& op,
                         const Arguments& arguments) {
  reference_kernels()[op](stream, op, arguments);
  arguments.pointer<float>(op.kY)[op.elements] = 1;
}
void writes_before_the_start(device::Stream& stream, const program::AddInto& op,
                             const Arguments& arguments) {
  reference_kernels()[op](stream, op, arguments);
  arguments.pointer<float>(op.kY)[-2] = 0;
}
void changes_its_input(device::Stream& stream, const program::AddInto& op,
                       const Arguments& arguments) {
  reference_kernels()[op](stream, op, arguments);
  arguments.pointer<float>(op.kX)[0] += 1;
}
void reads_past_the_end(device::Stream& stream, const program::AddInto& op,
                        const Arguments& arguments) {
  reference_kernels()[op](stream, op, arguments);
  arguments.pointer<float>(op.kY)[0] += 0 * arguments.pointer<const float>(op.kX)[op.elements];
}
void forgets_the_last_element(device::Stream& stream, const program::BiasGelu& op,
                              const Arguments& arguments) {
  const program::BiasGelu shorter{.rows = op.rows - 1, .columns = op.columns};
  reference_kernels()[shorter](stream, shorter, arguments);
}
void uses_too_much_workspace(device::Stream& stream, const program::BiasGradient& op,
                             const Arguments& arguments) {
  reference_kernels()[op](stream, op, arguments);
  arguments.workspace[program::workspace_of(op, {})] = std::byte{0};
}

TEST(Trial, SeesWritesOutsideAndChangesOfInputs) {
  const Case& c = case_named("add_into 7");
  const auto only_violation = [](const Outcome& outcome) {
    return outcome.violations.size() == 1 ? outcome.violations[0] : std::string();
  };
  EXPECT_EQ((only_violation(run_with<program::AddInto, writes_past_the_end>(c))),
            "add_into 7: wrote byte 1 past the end of y");
  EXPECT_EQ((only_violation(run_with<program::AddInto, writes_before_the_start>(c))),
            "add_into 7: wrote byte 5 before y");
  EXPECT_EQ((only_violation(run_with<program::AddInto, changes_its_input>(c))),
            "add_into 7: x was changed, it may only be read");
  EXPECT_EQ((only_violation(run_with<program::BiasGradient, uses_too_much_workspace>(
                case_named("bias_gradient 67 x 65")))),
            "bias_gradient 67 x 65: wrote byte 1 past the end of the workspace");
}

TEST(Compare, RefusesNanFromOutsideAndElementsNotWritten) {
  const Case& add = case_named("add_into 7");
  const Outcome outside = run_with<program::AddInto, reads_past_the_end>(add);
  EXPECT_FALSE(compare(add, run_reference(add), outside).within);
  const Case& gelu = case_named("bias_gelu 7 x 5");
  const Outcome unwritten = run_with<program::BiasGelu, forgets_the_last_element>(gelu);
  const Comparison comparison = compare(gelu, run_reference(gelu), unwritten);
  EXPECT_FALSE(comparison.within);
  EXPECT_NE(comparison.text.find("y[30] is"), std::string::npos) << comparison.text;
}

// What the tolerance is made for: float accumulation in plain order.
void product_in_float(device::Stream&, const program::Product& op, const Arguments& arguments) {
  const auto* x = arguments.pointer<const float>(op.kX);
  const auto* w = arguments.pointer<const float>(op.kW);
  for (int64_t row = 0; row < op.rows; ++row) {
    for (int64_t out = 0; out < op.out; ++out) {
      float sum = 0;
      for (int64_t in = 0; in < op.in; ++in) sum += x[row * op.in + in] * w[out * op.in + in];
      arguments.pointer<float>(op.kY)[row * op.out + out] = sum;
    }
  }
}
// And what it must not let through: one factor rounded to 18 bits on the way.
void product_in_less(device::Stream& stream, const program::Product& op,
                     const Arguments& arguments) {
  product_in_float(stream, op, arguments);
  float* y = arguments.pointer<float>(op.kY);
  for (int64_t i = 0; i < op.rows * op.out; ++i) y[i] *= 1 + 0x1p-17F;
}

TEST(Tolerance, AdmitsFloatSumsInPlainOrderAndNotMuchMore) {
  for (const char* name : {"product 13 x 5 x 129", "product 64 x 64 x 64", "product 40 x 515 x 17",
                           "product 130 x 96 x 70"}) {
    const Case& c = case_named(name);
    const Outcome expected = run_reference(c);
    const Outcome plain = run_with<program::Product, product_in_float>(c);
    const Comparison good = compare(c, expected, plain);
    EXPECT_TRUE(good.within) << good.text;
    EXPECT_GT(good.worst, 0.1) << "the tolerance is too wide to teach anything: " << good.text;
    const Comparison bad = compare(c, expected, run_with<program::Product, product_in_less>(c));
    EXPECT_FALSE(bad.within) << bad.text;
  }
}

TEST(Tolerance, IsZeroWhereNothingIsRounded) {
  EXPECT_EQ(tolerance(DType::f32, {}, 3, 5), 0);
  EXPECT_EQ(tolerance(DType::f32, {.roundings = 1}, 3, 5), 5 * 0x1p-24);
  EXPECT_EQ(tolerance(DType::f64, {.roundings = 1, .terms = 4}, -8, 5), 8 * 6 * 0x1p-53);
}

}  // namespace
}  // namespace trireme::ops::testing
