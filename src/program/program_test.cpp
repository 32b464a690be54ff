#include "program/program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "core/format.h"
#include "program/liveness.h"
#include "program/print.h"

namespace trireme::program {
namespace {

constexpr int64_t kRows = 6;
constexpr int64_t kColumns = 10;

// x -> layer norm -> gelu -> y, with everything a backward needs.
Block small_block() {
  BlockBuilder b("small");
  const Shape wide = {kRows, kColumns};
  const auto gamma = b.weight("gamma", {kColumns});
  const auto beta = b.weight("beta", {kColumns});
  const auto bias = b.weight("bias", {kColumns});
  const int x = b.flow("x", wide);
  const int y = b.flow("y", wide);
  const int dy = b.flow("dy", wide);
  const int dx = b.flow("dx", wide);
  const int u = b.local("u", wide);
  const int mean = b.local("mean", {kRows});
  const int rstd = b.local("rstd", {kRows});
  const int du = b.local("du", wide);
  b.forward(LayerNorm{.rows = kRows, .columns = kColumns},
            {x, gamma.value, beta.value, u, mean, rstd});
  b.forward(BiasGelu{.rows = kRows, .columns = kColumns}, {u, bias.value, y});
  b.input_gradient(BiasGeluBackward{.rows = kRows, .columns = kColumns}, {dy, u, bias.value, du});
  b.weight_gradient(BiasGradient{.rows = kRows, .columns = kColumns}, {du, bias.gradient});
  b.input_gradient(LayerNormBackward{.rows = kRows, .columns = kColumns, .residual = false},
                   {du, x, gamma.value, mean, rstd, kNoValue, dx});
  b.weight_gradient(LayerNormGradient{.rows = kRows, .columns = kColumns},
                    {du, x, mean, rstd, gamma.gradient, beta.gradient});
  return b.take();
}

// A chain of n small blocks between the flows.
Program chain(int n, bool backward = true) {
  Program program = {.name = "chain"};
  program.blocks.push_back(small_block());
  if (!backward) program.blocks[0].backward.clear();
  const auto flow = [&](const std::string& name) {
    program.flows.push_back({.name = name, .kind = ValueKind::flow, .shape = {kRows, kColumns}});
    return static_cast<int>(program.flows.size()) - 1;
  };
  int x = flow("x0");
  int dx = backward ? flow("dx0") : kNoValue;
  program.input = x;
  program.input_gradient = dx;
  for (int layer = 0; layer < n; ++layer) {
    const int y = flow(format("x{}", layer + 1));
    const int dy = backward ? flow(format("dx{}", layer + 1)) : kNoValue;
    Instance instance = {.block = 0,
                         .layer = layer,
                         .bindings = std::vector<int>(program.blocks[0].values.size(), kNoValue)};
    for (size_t v = 0; v < program.blocks[0].values.size(); ++v) {
      const std::string& name = program.blocks[0].values[v].name;
      if (name == "x") instance.bindings[v] = x;
      if (name == "y") instance.bindings[v] = y;
      if (name == "dx") instance.bindings[v] = dx;
      if (name == "dy") instance.bindings[v] = dy;
    }
    program.instances.push_back(instance);
    x = y;
    dx = dy;
  }
  program.output = x;
  program.output_gradient = dx;
  return program;
}

const Placement& local(const Program& program, const SlotPlan& plan, const std::string& name) {
  const auto& values = program.blocks[0].values;
  const auto found = std::find_if(values.begin(), values.end(), [&](const Value& v) {
    return v.name == name && v.kind == ValueKind::local;
  });
  return plan.locals[0][static_cast<size_t>(found - values.begin())];
}

TEST(PlanSlots, SavesWhatForwardMakesAndBackwardReads) {
  const Program program = chain(1);
  const SlotPlan plan = plan_slots(program, BackwardForm::joined);
  EXPECT_EQ(local(program, plan, "u").area, Placement::Area::saved);
  EXPECT_EQ(local(program, plan, "mean").uses.text(plan.form), "F to B");
  EXPECT_EQ(local(program, plan, "du").area, Placement::Area::temporary);
}

TEST(PlanSlots, KeepsWhatAWeightGradientNeedsWhenBackwardIsSplit) {
  const Program program = chain(1);
  const SlotPlan plan = plan_slots(program, BackwardForm::split);
  EXPECT_EQ(local(program, plan, "du").area, Placement::Area::saved);
  EXPECT_EQ(local(program, plan, "du").uses.text(plan.form), "I to W");
  EXPECT_EQ(local(program, plan, "u").uses.text(plan.form), "F to I");
  EXPECT_EQ(local(program, plan, "mean").uses.text(plan.form), "F to I to W");
}

TEST(PlanSlots, GivesEachInstanceItsOwnSavedBytes) {
  const Program program = chain(5);
  const SlotPlan plan = plan_slots(program, BackwardForm::joined);
  const int64_t per_instance = plan.saved_base[1] - plan.saved_base[0];
  for (size_t i = 1; i < plan.saved_base.size(); ++i)
    EXPECT_EQ(plan.saved_base[i] - plan.saved_base[i - 1], per_instance);
  EXPECT_EQ(plan.saved_bytes, plan.saved_base.back() + per_instance);
  EXPECT_GE(per_instance, kRows * kColumns * 4 + 2 * kRows * 4);
}

TEST(PlanSlots, NeedsTwoGradientFlowsHoweverLongTheChain) {
  const SlotPlan plan8 = plan_slots(chain(8), BackwardForm::joined);
  const SlotPlan plan50 = plan_slots(chain(50), BackwardForm::joined);
  EXPECT_EQ(plan8.temporary_bytes, plan50.temporary_bytes);
}

TEST(PlanSlots, SavesNothingWithoutBackward) {
  const SlotPlan plan = plan_slots(chain(8, false), BackwardForm::joined);
  EXPECT_EQ(plan.saved_bytes, 0);
  EXPECT_LE(plan.temporary_bytes, 6 * 256 + 2 * 64);
}

// Runs a program's ops over tags instead of numbers: every write stamps the value's bytes, every
// read must find its own stamp.
TEST(PlanSlots, NeverLetsTwoLivingValuesShareBytes) {
  for (const BackwardForm form : {BackwardForm::joined, BackwardForm::split}) {
    for (const int n : {1, 2, 7}) {
      const Program program = chain(n);
      const SlotPlan plan = plan_slots(program, form);
      std::vector<int> saved(static_cast<size_t>(plan.saved_bytes), -1);
      std::vector<int> temporary(static_cast<size_t>(plan.temporary_bytes), -1);
      std::map<int, std::vector<int>> messages;  // the chunk's ends: buffers of their own
      const auto visit = [&](size_t i, const Op& op) {
        const Instance& instance = program.instances[i];
        const std::vector<Operand> operands = operands_of(op.spec);
        const auto region = [&](size_t k, auto&& use) {
          const auto v = static_cast<size_t>(op.values[k]);
          const Value& value = program.blocks[0].values[v];
          if (value.kind != ValueKind::flow && value.kind != ValueKind::local) return;
          const bool flow = value.kind == ValueKind::flow;
          const Placement& p =
              flow ? plan.flows[static_cast<size_t>(instance.bindings[v])] : plan.locals[0][v];
          const int tag =
              flow ? instance.bindings[v] : 1000 + static_cast<int>(i) * 100 + static_cast<int>(v);
          int64_t offset = p.offset;
          if (!flow && p.area == Placement::Area::saved) offset += plan.saved_base[i];
          if (p.area == Placement::Area::apart) {
            std::vector<int>& buffer = messages[tag];
            buffer.resize(static_cast<size_t>(value.bytes()), -1);
            use(buffer.begin(), buffer.end(), tag);
            return;
          }
          auto& memory = p.area == Placement::Area::saved ? saved : temporary;
          ASSERT_LE(offset + value.bytes(), static_cast<int64_t>(memory.size()));
          use(memory.begin() + offset, memory.begin() + offset + value.bytes(), tag);
        };
        for (size_t k = 0; k < operands.size(); ++k) {
          if (op.values[k] == kNoValue || operands[k].access != Access::read) continue;
          region(k, [&](auto begin, auto end, int tag) {
            EXPECT_TRUE(std::all_of(begin, end, [&](int t) { return t == tag; }))
                << name_of(op.spec) << " operand " << k;
          });
        }
        for (size_t k = 0; k < operands.size(); ++k) {
          if (op.values[k] == kNoValue || operands[k].access != Access::write) continue;
          region(k, [&](auto begin, auto end, int tag) { std::fill(begin, end, tag); });
        }
      };
      const auto stamp = [&](int flow) {
        EXPECT_EQ(plan.flows[static_cast<size_t>(flow)].area, Placement::Area::apart);
        messages[flow].assign(static_cast<size_t>(program.flows[static_cast<size_t>(flow)].bytes()),
                              flow);
      };
      stamp(program.input);
      for (size_t i = 0; i < program.instances.size(); ++i) {
        for (const Op& op : program.blocks[0].forward) visit(i, op);
      }
      stamp(program.output_gradient);
      for (const int pass :
           form == BackwardForm::joined ? std::vector<int>{0} : std::vector<int>{1, 2}) {
        for (size_t i = program.instances.size(); i-- > 0;) {
          for (const Op& op : program.blocks[0].backward) {
            if (pass == 1 && op.half == Half::weight_gradient) continue;
            if (pass == 2 && op.half == Half::input_gradient) continue;
            visit(i, op);
          }
        }
        if (pass == 1)
          std::fill(temporary.begin(), temporary.end(), -2);  // other actions come between I and W
      }
    }
  }
}

TEST(Totals, CountEveryInstance) {
  const Totals one = totals(chain(1));
  const Totals five = totals(chain(5));
  EXPECT_DOUBLE_EQ(five.forward.flops, 5 * one.forward.flops);
  EXPECT_DOUBLE_EQ(five.backward.bytes, 5 * one.backward.bytes);
}

TEST(Print, ShowsEveryOpWithItsValues) {
  const Program program = chain(3);
  const std::string text = print(program, plan_slots(program, BackwardForm::joined));
  for (const char* part :
       {"block small, 3 times: layers 0-2", "u, mean, rstd = layer_norm(x, gamma, beta)",
        "d(bias) (+)= bias_gradient(du)", "F to B, saved"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

TEST(BlockBuilderDeathTest, RefusesAnOpWhoseOperandsDoNotFit) {
  const auto wrong_size = [] {
    BlockBuilder b("bad");
    const int x = b.flow("x", {2, 3});
    const int y = b.flow("y", {2, 3});
    b.forward(BiasGelu{.rows = 2, .columns = 4}, {x, b.parameter("bias", {4}), y});
    static_cast<void>(b.take());
  };
  EXPECT_DEATH(wrong_size(), "elements");
  const auto unwritten = [] {
    BlockBuilder b("bad");
    const int x = b.local("x", {2, 4});
    const int y = b.flow("y", {2, 4});
    b.forward(BiasGelu{.rows = 2, .columns = 4}, {x, b.parameter("bias", {4}), y});
    static_cast<void>(b.take());
  };
  EXPECT_DEATH(unwritten(), "read before it is written");
}

TEST(OpSpecs, HaveDistinctNamesAndCountedOperands) {
  std::vector<std::string_view> names;
  [&]<size_t... I>(std::index_sequence<I...>) {
    (names.push_back(std::variant_alternative_t<I, OpSpec>::kName), ...);
  }
  (std::make_index_sequence<kOpKinds>());
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

}  // namespace
}  // namespace trireme::program
