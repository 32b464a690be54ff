#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <set>
#include <sstream>

#include "core/error.h"
#include "core/format.h"
#include "model/blocks.h"
#include "model/run_plan.h"
#include "program/print.h"

namespace trireme::model {
namespace {

using program::AllReduceStart;
using program::Totals;

GptShape gpt2_124m() {
  return {.layers = 12,
          .hidden = 768,
          .heads = 12,
          .ffn = 3072,
          .length = 256,
          .positions = 1024,
          .vocabulary = 50257};
}

GptShape tiny() {
  return {.layers = 3,
          .hidden = 24,
          .heads = 4,
          .ffn = 96,
          .length = 10,
          .positions = 16,
          .vocabulary = 61};
}

TEST(GptTensors, CountGpt2sParameters) {
  EXPECT_EQ(gpt_tensors(gpt2_124m(), {}).parameters(), 124439808);
}

TEST(GptTensors, CountAsThePapersFormula) {
  // P = 12 l h^2 (1 + 13/(12 h) + (V + s)/(12 l h)), section 5.1, plus the final norm's 2 h that it
  // leaves out
  const GptShape shape = {.layers = 24,
                          .hidden = 2304,
                          .heads = 24,
                          .ffn = 4 * 2304,
                          .length = 2048,
                          .positions = 2048,
                          .vocabulary = 51200};
  const double l = 24;
  const double h = 2304;
  const double formula = 12 * l * h * h * (1 + 13 / (12 * h) + (51200.0 + 2048) / (12 * l * h));
  EXPECT_NEAR(static_cast<double>(gpt_tensors(shape, {}).parameters()), formula + 2 * h, 1);
}

TEST(GptTensors, SlicesOfAllTensorRanksTileEveryCutTensor) {
  GptShape shape = tiny();
  for (const int t : {1, 2, 4}) {
    const parallel::Topology topology(1, t, 1);
    const auto table = gpt_tensors(shape, topology);
    for (int i = 0; i < table.size(); ++i) {
      int64_t held = 0;
      bool cut = false;
      for (int rank = 0; rank < t; ++rank) {
        held +=
            table.slice(TensorId{i}, topology, topology.coordinates(Rank{rank})).extent.elements();
      }
      for (const auto& split : table[TensorId{i}].splits) cut = cut || split.has_value();
      EXPECT_EQ(held, table[TensorId{i}].shape.elements() * (cut ? 1 : t))
          << table[TensorId{i}].name;
    }
  }
}

TEST(ChunkProgram, HasTheFlopsOfThePapersFormula) {
  for (const GptShape& shape : {gpt2_124m(), tiny()}) {
    const RunPlan plan = plan_run({.shape = shape, .batch = {.sequences = 4, .microbatches = 3}});
    // The programs multiply by the padded vocabulary, as every implementation does.
    GptShape padded = shape;
    padded.vocabulary = shape.padded_vocabulary(1);
    EXPECT_NEAR(plan.nominal_step_flops() / paper_model_flops(padded, 12), 1, 1e-12);
  }
}

TEST(ChunkProgram, StoresThePapersProbabilitiesOnlyWhereAskedTo) {
  // 5 a s / h of the paper's memory formula: the output of the softmax, that of dropout and, here
  // drawn again rather than stored, the mask of dropout (2 + 2 + 1 bytes of s b h; here 4 + 4).
  GptShape shape = gpt2_124m();
  const int64_t s = shape.length;
  const int64_t b = 4;
  const int64_t rows = s * b * shape.heads;
  const auto plan_of = [&](AttentionForm form, double dropout) {
    shape.attention = form;
    shape.attention_dropout = dropout;
    return plan_run({.shape = shape, .batch = {.sequences = b}});
  };
  for (const double dropout : {0.0, 0.1}) {
    const RunPlan recomputed = plan_of(AttentionForm::recomputed, dropout);
    const RunPlan stored = plan_of(AttentionForm::stored, dropout);
    const int64_t matrices = dropout > 0 ? 2 : 1;
    EXPECT_EQ(stored.train[0].slots.saved_bytes - recomputed.train[0].slots.saved_bytes,
              shape.layers * 4 * (matrices * rows * s - rows));
    EXPECT_DOUBLE_EQ(stored.nominal_step_flops(), recomputed.nominal_step_flops());
    EXPECT_LT(program::totals(stored.train[0].program).backward.flops,
              program::totals(recomputed.train[0].program).backward.flops);
  }
}

TEST(ChunkProgram, ReadsSegmentStartsOnlyWhereDocumentsAreKeptApart) {
  GptShape shape = tiny();
  shape.attention = AttentionForm::stored;
  for (const bool documents : {false, true}) {
    const RunPlan plan =
        plan_run({.shape = shape, .batch = {.sequences = 2, .documents = documents}});
    const auto field = static_cast<size_t>(program::BatchField::segment_starts);
    EXPECT_EQ(plan.batch_layout.bytes[field] > 0, documents);
  }
}

TEST(ChunkProgram, SendsThePapersBytesPerLayer) {
  // 8 b s h (t - 1)/t elements per layer and microbatch: two all-reduces forward, two backward
  // (section 3.2)
  const GptShape shape = tiny();
  for (const int t : {1, 2, 4}) {
    const parallel::Topology topology(1, t, 1);
    const Sizes z = sizes_of(shape, {.sequences = 2}, topology, {}, Mode::train);
    double sent = 0;
    for (const program::Block& block : {attention_block(z), mlp_block(z)}) {
      for (const auto* ops : {&block.forward, &block.backward}) {
        for (const program::Op& op : *ops) {
          if (const auto* start = std::get_if<AllReduceStart>(&op.spec))
            sent += start->wire_bytes() / 4;
        }
      }
    }
    EXPECT_DOUBLE_EQ(sent, 8.0 * 2 * 10 * 24 * (t - 1) / t) << t;
  }
}

TEST(ChunkProgram, GivesEveryWeightExactlyOneGradientPerMicrobatch) {
  const RunPlan plan = plan_run({.shape = tiny(), .batch = {.sequences = 2}});
  const program::Program& p = plan.train[0].program;
  std::multiset<int> written;
  for (const program::Instance& instance : p.instances) {
    const program::Block& block = p.blocks[static_cast<size_t>(instance.block)];
    for (const program::Op& op : block.backward) {
      const auto operands = program::operands_of(op.spec);
      for (size_t i = 0; i < operands.size(); ++i) {
        if (operands[i].access != program::Access::add) continue;
        EXPECT_EQ(op.half, program::Half::weight_gradient);
        written.insert(instance.bindings[static_cast<size_t>(op.values[i])]);
      }
    }
  }
  for (int id = 0; id < plan.table.size(); ++id)
    EXPECT_EQ(written.count(id), 1U) << plan.table[TensorId{id}].name;
}

TEST(ChunkProgram, CutsAtAPipelineIntoTheSameOpsInTheSameOrder) {
  GptShape shape = tiny();
  shape.layers = 4;
  const auto ops_of = [&](int p) {
    std::vector<std::string> names;
    for (int r = 0; r < p; ++r) {
      const RunPlan plan = plan_run({.shape = shape,
                                     .batch = {.sequences = 2, .microbatches = 4},
                                     .topology = parallel::Topology(p, 1, 1),
                                     .at = {.pipeline = r}});
      const program::Program& prog = plan.train[0].program;
      EXPECT_EQ(prog.input == program::kNoValue, r == 0);
      EXPECT_EQ(prog.output == program::kNoValue, r == p - 1);
      for (const program::Instance& instance : prog.instances) {
        names.push_back(
            format("{} {}", prog.blocks[static_cast<size_t>(instance.block)].name, instance.layer));
      }
      EXPECT_EQ(plan.memory.chunks[0].in_flight, p - r);
    }
    return names;
  };
  EXPECT_EQ(ops_of(1), ops_of(2));
  EXPECT_EQ(ops_of(1), ops_of(4));
}

TEST(ChunkProgram, SavesNothingWhenEvaluatingOrDecoding) {
  const RunPlan plan = plan_run({.shape = tiny(),
                                 .batch = {.sequences = 1},
                                 .train = false,
                                 .evaluate = true,
                                 .decode = {.capacity = 16}});
  EXPECT_EQ(plan.evaluate[0].slots.saved_bytes, 0);
  EXPECT_EQ(plan.decode->slots.saved_bytes, 0);
  EXPECT_EQ(plan.memory[ArenaKind::cache], 3 * 2 * 16 * 24 * 4);
  EXPECT_EQ(plan.memory[ArenaKind::gradients], 0);
}

TEST(ChunkProgram, PrintsLikeThePaper) {
  const RunPlan plan = plan_run(
      {.shape = tiny(), .batch = {.sequences = 2}, .topology = parallel::Topology(1, 2, 1)});
  const std::string text = program::print(plan.train[0].program, plan.train[0].slots);
  for (const char* part : {"block attention, 3 times: layers 0-2", "o <- all_reduce_start()",
                           "context, lse = attention("}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

TEST(StepProgram, UpdatesEveryTensorOnceAndAddsTiedGradientsFirst) {
  const RunPlan plan = plan_run({.shape = tiny(), .batch = {.sequences = 2}});
  const program::Program& reduce = plan.reduce->program;
  ASSERT_EQ(reduce.blocks[0].forward.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<program::AddInto>(reduce.blocks[0].forward.front().spec));
  const program::Program& step = plan.step->program;
  std::multiset<std::string> updated;
  int64_t squares = 0;
  for (const program::Op& op : step.blocks[0].forward) {
    if (std::holds_alternative<program::AdamW>(op.spec)) {
      updated.insert(step.blocks[0].values[static_cast<size_t>(op.values[0])].name);
    }
    if (const auto* sums = std::get_if<program::SquareSums>(&op.spec)) {
      EXPECT_EQ(sums->first_block, squares);
      squares += program::norm_blocks(sums->elements);
    }
  }
  EXPECT_EQ(updated.size(), static_cast<size_t>(plan.table.size()) - 1);
  EXPECT_EQ(updated.count("output_layer.weight"), 0U);
  for (const std::string& name : updated) EXPECT_EQ(updated.count(name), 1U);
}

TEST(RunPlan, CountsWeightsAndStatesToTheByte) {
  const RunPlan plan =
      plan_run({.shape = gpt2_124m(), .batch = {.sequences = 4, .microbatches = 2}});
  const int64_t stored = (124439808 + (50304 - 50257) * 768) * int64_t{4};
  // All of GPT-2's extents are multiples of 16 elements, so alignment adds nothing.
  EXPECT_EQ(plan.memory[ArenaKind::parameters], stored);
  EXPECT_EQ(plan.memory[ArenaKind::first_moments], stored);
  // The tied head has an accumulator of its own, and nothing else.
  EXPECT_EQ(plan.memory[ArenaKind::gradients], stored + int64_t{50304} * 768 * 4);
}

TEST(RunPlan, EvaluatesInTheMemoryOfTheActivations) {
  const RunRequest request = {.shape = gpt2_124m(), .batch = {.sequences = 4}};
  RunRequest with_evaluation = request;
  with_evaluation.evaluate = true;
  EXPECT_EQ(plan_run(with_evaluation).memory.total(), plan_run(request).memory.total());
}

TEST(MemoryTable, HasRowsThatMakeUpTheTotal) {
  constexpr int64_t kMiB = int64_t{1} << 20;
  MemoryPlan memory;
  memory[ArenaKind::parameters] = 10 * kMiB;
  memory[ArenaKind::activations] = 20 * kMiB;
  memory.chunks = {{.in_flight = 2, .slot_bytes = 5 * kMiB}, {.in_flight = 1, .slot_bytes = kMiB}};
  std::istringstream lines(memory.text());
  std::vector<std::string> rows;
  double sum = 0;
  double total = 0;
  for (std::string line; std::getline(lines, line);) {
    const double last = std::strtod(line.c_str() + line.rfind(' '), nullptr);
    (line.find("  total") == 0 ? total : sum) += last;
    if (last > 0) rows.push_back(line);
  }
  EXPECT_EQ(total, 30);
  EXPECT_EQ(sum, total);
  ASSERT_EQ(rows.size(), 5U) << memory.text();
  EXPECT_NE(rows[1].find("activations of chunk 0, 2 microbatches in flight, 5.0 MiB each"),
            std::string::npos);
  EXPECT_NE(rows[2].find("activations of chunk 1, 1 microbatch in flight, 1.0 MiB each"),
            std::string::npos);
  EXPECT_NE(rows[3].find("evaluation, in the place of activations"), std::string::npos);
}

TEST(RunPlan, RefusesImpossibleSizesWithRuleAndRemedy) {
  const auto message = [](GptShape shape) -> std::string {
    try {
      static_cast<void>(plan_run({.shape = shape}));
    } catch (const Error& error) {
      EXPECT_EQ(error.exit_status(), 2);
      return error.what();
    }
    return "";
  };
  GptShape shape = tiny();
  shape.heads = 5;
  EXPECT_NE(message(shape).find("use --hidden-size 20 or 25"), std::string::npos)
      << message(shape);
  shape = tiny();
  shape.length = 17;
  EXPECT_NE(message(shape).find("use --max-position-embeddings 17"), std::string::npos)
      << message(shape);
}

}  // namespace
}  // namespace trireme::model
