#include "train/verify/tiny.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/format.h"
#include "train/cut.h"

namespace trireme::train {
namespace {

TrainOptions large() {
  TrainOptions options;
  options.model.num_layers = 96;
  options.model.hidden_size = 12288;
  options.model.num_attention_heads = 96;
  options.model.seq_length = 2048;
  options.model.vocab_size = 51200;
  options.batch.micro_batch_size = 4;
  options.batch.global_batch_size = 1536;
  options.batch.train_iters = 100;
  options.data.mock_data = true;
  return options;
}

// What the options come to: throws where a rule of the cut is broken.
model::RunPlan plan_of(const TrainOptions& options, const parallel::Topology& topology) {
  const model::GptShape shape = gpt_shape(options.model, *options.model.vocab_size);
  const RunCourse course = run_course(options, topology);
  const BatchShapes batches = batch_shapes(course, options.batch.micro_batch_size, topology);
  const Cut cut = cut_run(options, shape, batches, topology);
  return model::plan_run({.shape = shape,
                          .batch = batches.largest,
                          .topology = topology,
                          .layout = cut.layout,
                          .kind = cut.schedule,
                          .group = cut.group});
}

TEST(TinyOptions, KeepTheCutPossibleAndSmall) {
  for (const int p : {1, 2, 3, 4, 8}) {
    for (const int t : {1, 2, 3, 8}) {
      for (const int d : {1, 4}) {
        for (const int64_t v : {1, 2, 4}) {
          if (p == 1 && v > 1) continue;
          const parallel::Topology topology(p, t, d);
          TrainOptions options = large();
          if (v > 1) options.pipeline.num_virtual_stages_per_pipeline_rank = v;
          const TrainOptions tiny = tiny_options(options, topology);
          const std::string where = format("p {} t {} d {} v {}", p, t, d, v);
          const model::RunPlan plan = plan_of(tiny, topology);
          EXPECT_EQ(plan.layout.chunks_per_rank(), v) << where;
          EXPECT_EQ(tiny.model.num_layers, p == 1 ? 2 : p * v) << where;
          EXPECT_EQ(tiny.model.num_attention_heads, 2 * t) << where;
          EXPECT_EQ(tiny.model.ffn(), 4 * tiny.model.hidden_size) << where;
          EXPECT_GE(plan.batch.microbatches, p) << where;
          EXPECT_LE(plan.batch.microbatches, 2 * p + 1) << where;
          EXPECT_EQ(tiny.model.hidden_dropout, options.model.hidden_dropout);
          EXPECT_LT(plan.memory.total(), int64_t{8} << 20) << where;
        }
      }
    }
  }
}

TEST(TinyOptions, KeepWhatALayoutOrAnOrderNames) {
  TrainOptions options = large();
  options.pipeline.pipeline_model_parallel_layout = "Et*40|t*56L";
  options.pipeline.microbatch_group_size_per_virtual_pipeline_stage = 5;
  const TrainOptions tiny = tiny_options(options, {2, 1, 1});
  EXPECT_EQ(tiny.model.num_layers, 96);
  EXPECT_EQ(*tiny.batch.global_batch_size, 2 * 1536 / 4) << "as many microbatches of 2";
}

TEST(TinyOptions, KeepTheWordsOfDataThatTheRunNames) {
  TrainOptions options = large();
  EXPECT_EQ(*tiny_options(options, {}).model.vocab_size, 67);
  options.data.mock_data = false;
  EXPECT_TRUE(tiny_options(options, {}).data.mock_data) << "where it names none";
  options.data.data_path = {"corpus"};
  const TrainOptions tiny = tiny_options(options, {});
  EXPECT_FALSE(tiny.data.mock_data);
  EXPECT_EQ(*tiny.model.vocab_size, 51200);
}

TEST(TinyOptions, BreakTheRulesThatTheRunBreaks) {
  EXPECT_THROW((void)plan_of(tiny_options(large(), {1, 5, 1}), {1, 5, 1}), Error) << "96 heads";
  EXPECT_THROW((void)plan_of(tiny_options(large(), {5, 1, 1}), {5, 1, 1}), Error) << "96 layers";
  EXPECT_THROW((void)plan_of(tiny_options(large(), {1, 1, 5}), {1, 1, 5}), Error) << "1536 samples";
  TrainOptions interleaved = large();
  interleaved.batch.global_batch_size = 4 * 6;  // m = 6 over p = 4
  interleaved.pipeline.num_virtual_stages_per_pipeline_rank = 2;
  EXPECT_THROW((void)plan_of(tiny_options(interleaved, {4, 1, 1}), {4, 1, 1}), Error);
}

}  // namespace
}  // namespace trireme::train
