// Every rule of a run's cut, with the values that its message offers.

#include "train/cut.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <regex>

#include "core/error.h"
#include "core/file.h"
#include "core/format.h"
#include "schedule/communication.h"
#include "schedule/text.h"
#include "schedule/validate.h"

namespace trireme::train {
namespace {

using schedule::ScheduleKind;

// A run of 8 layers with 12 heads; each test changes what it is about.
struct Wish {
  int64_t p = 4;
  int64_t t = 1;
  int64_t ranks = 4;
  int layers = 8;
  int64_t ffn = 96;
  int64_t global_batch = 16;  // b = 2
  config::Words ramp_up = {};
  config::PipelineOptions pipeline = {};
  config::CommunicationOptions communication = {};
};

Cut cut_of(const Wish& wish) {
  TrainOptions options;
  options.model.seq_length = 16;
  options.batch.micro_batch_size = 2;
  options.batch.global_batch_size = wish.global_batch;
  options.batch.rampup_batch_size = wish.ramp_up;
  options.batch.train_iters = 100;
  options.parallel.pipeline_model_parallel_size = wish.p;
  options.parallel.tensor_model_parallel_size = wish.t;
  options.pipeline = wish.pipeline;
  options.communication = wish.communication;
  const model::GptShape shape = {.layers = wish.layers,
                                 .hidden = 24,
                                 .heads = 12,
                                 .ffn = wish.ffn,
                                 .length = 16,
                                 .positions = 16,
                                 .vocabulary = 100};
  const parallel::Topology ranks = topology(options.parallel, wish.ranks);
  return cut_run(options, shape,
                 batch_shapes(run_course(options, ranks), options.batch.micro_batch_size, ranks),
                 ranks);
}

std::string refusal_of(const Wish& wish, Error::Kind kind = Error::Kind::usage) {
  try {
    return "accepted " + cut_of(wish).text(1);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
}

void expect_refused(const Wish& wish, const std::vector<std::string>& parts) {
  const std::string refusal = refusal_of(wish);
  for (const std::string& part : parts)
    EXPECT_NE(refusal.find(part), std::string::npos) << part << "\nin\n" << refusal;
}

TEST(Cut, IsEqualAnd1F1BUnlessTold) {
  const Cut cut = cut_of({});
  EXPECT_EQ(cut.layout, parallel::equal_layout(8, 4, 1));
  EXPECT_EQ(cut.schedule, ScheduleKind::one_forward_one_backward);
  EXPECT_EQ(cut.order, std::nullopt);
  EXPECT_TRUE(cut.notes().empty());
}

TEST(Cut, SaysRanksAndWhereEveryLayerWent) {
  const std::string text = cut_of({.p = 2, .t = 2, .ranks = 8}).text(1);
  EXPECT_EQ(text.rfind("ranks: 8 = p 2 x t 2 x d 2, 1 thread each\n", 0), 0U) << text;
  EXPECT_NE(text.find("\n1              layers 4-7, head"), std::string::npos) << text;
  EXPECT_NE(text.find("\n8 of 8 layers placed"), std::string::npos) << text;
  EXPECT_EQ(cut_of({.p = 1, .ranks = 1}).text(2),
            "ranks: 1 = p 1 x t 1 x d 1, 2 threads each\n"
            "8 of 8 layers placed, with embedding and head in one stage");
}

TEST(Cut, IsInterleavedWhereThereAreChunks) {
  const Cut by_chunks = cut_of({.pipeline = {.num_virtual_stages_per_pipeline_rank = 2}});
  EXPECT_EQ(by_chunks.layout, parallel::equal_layout(8, 4, 2));
  EXPECT_EQ(by_chunks.schedule, ScheduleKind::interleaved);
  const Cut by_layers = cut_of({.pipeline = {.num_layers_per_virtual_pipeline_stage = 1}});
  EXPECT_EQ(by_layers.layout, by_chunks.layout);
  const Cut by_text =
      cut_of({.pipeline = {.pipeline_model_parallel_layout = "E|t*2|t|t|t|t|t|tL"}});
  EXPECT_EQ(by_text.layout.layers_of, (std::vector<int>{0, 2, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(by_text.schedule, ScheduleKind::interleaved);
  EXPECT_EQ(by_text.shape(8).chunks, 2);
}

TEST(Cut, RanksAreTheProductOfTheirFactors) {
  expect_refused({.p = 2, .t = 2, .ranks = 6}, {"6 ranks, and no d with which p 2 x t 2 x d = 6",
                                                "ranks = p t d", "use 4 or 8 ranks"});
  expect_refused({.p = 4, .t = 2, .ranks = 4}, {"use 8 ranks"});
}

TEST(Cut, TensorRanksDivideHeadsAndMlp) {
  expect_refused({.p = 1, .t = 5, .ranks = 5}, {"12 attention heads over 5 tensor-parallel ranks",
                                                "use --tensor-model-parallel-size 4 or 6"});
  expect_refused({.p = 1, .t = 4, .ranks = 4, .ffn = 90},
                 {"--ffn-hidden-size 90 over 4 tensor-parallel ranks",
                  "use --ffn-hidden-size 88 or 92, or --tensor-model-parallel-size 3 or 6"});
}

TEST(Cut, BatchIsAMultipleOfMicrobatchAndDataRanks) {
  expect_refused({.p = 1, .ranks = 3}, {"a global batch of 16 with --micro-batch-size 2 and 3",
                                        "a multiple of b d", "use 12 or 18"});
}

TEST(Cut, PlacesEveryLayerOnce) {
  expect_refused({.layers = 10}, {"10 layers over 4 stages x 1 chunks", "a multiple of p v",
                                  "use 8 or 12 layers, or an uneven layout"});
  expect_refused({.layers = 12, .pipeline = {.num_virtual_stages_per_pipeline_rank = 2}},
                 {"use 8 or 16 layers"});
  expect_refused({.layers = 12, .pipeline = {.num_layers_per_virtual_pipeline_stage = 2}},
                 {"use --num-layers-per-virtual-pipeline-stage 1 or 3"});
  expect_refused({.pipeline = {.pipeline_model_parallel_layout = "Ett|tt|tt|tL"}},
                 {"7 of 8 layers placed", "write it like Ett|tt|tt|ttL"});
  expect_refused({.pipeline = {.pipeline_model_parallel_layout = "Ett|tt|ttt|t|L"}},
                 {"5 stages for 4 pipeline ranks", "make 4 or 8 of them"});
}

TEST(Cut, TakesTheLayoutsOfTheDocs) {
  const std::string page = read_file(TRIREME_SOURCE_DIR "/docs/parallelism.md");
  const std::regex line(
      "--pipeline-model-parallel-size ([0-9]+) --pipeline-model-parallel-layout '(.*)' +([0-9]+) "
      "layers");
  int found = 0;
  for (std::sregex_iterator at(page.begin(), page.end(), line), end; at != end; ++at, ++found) {
    const parallel::Layout layout =
        parallel::parse_layout((*at)[2].str(), std::stoi((*at)[3]), std::stoi((*at)[1]));
    EXPECT_EQ(layout.pipeline, std::stoi((*at)[1]));
  }
  EXPECT_EQ(found, 2);
}

TEST(Cut, HasChunksOnlyWhereThereIsABubbleToFill) {
  const std::vector<std::string> parts = {"2 chunks per rank",
                                          "use --pipeline-model-parallel-size 2"};
  expect_refused({.p = 1, .ranks = 1, .pipeline = {.num_virtual_stages_per_pipeline_rank = 2}},
                 parts);
  expect_refused({.p = 1, .ranks = 1, .pipeline = {.num_layers_per_virtual_pipeline_stage = 4}},
                 parts);
  expect_refused({.p = 1, .ranks = 1, .pipeline = {.pipeline_model_parallel_layout = "Et*4|t*4L"}},
                 parts);
}

TEST(Cut, RefusesASchedulesWrongNumberOfChunks) {
  using config::PipelineSchedule;
  expect_refused({.pipeline = {.num_virtual_stages_per_pipeline_rank = 2,
                               .schedule = PipelineSchedule::one_forward_one_backward}},
                 {"--schedule 1f1b with 2 chunks", "use --schedule interleaved"});
  expect_refused({.pipeline = {.schedule = PipelineSchedule::interleaved}},
                 {"1 chunk per rank", "use --num-virtual-stages-per-pipeline-rank 2"});
  expect_refused({.pipeline = {.microbatch_group_size_per_virtual_pipeline_stage = 4}},
                 {"group-size-per-virtual-pipeline-stage 4 with 1 chunk", "leave it out"});
  EXPECT_EQ(cut_of({.pipeline = {.num_virtual_stages_per_pipeline_rank = 2,
                                 .schedule = PipelineSchedule::gpipe}})
                .schedule,
            ScheduleKind::gpipe);
}

TEST(Cut, NotesOptionsThatChangeNothing) {
  const config::PipelineOptions gpipe = {.schedule = config::PipelineSchedule::gpipe};
  const config::CommunicationOptions all = {.use_tp_pp_dp_mapping = true,
                                            .overlap_grad_reduce = false,
                                            .ddp_bucket_size = 1000,
                                            .scatter_gather_tensors_in_pipeline = true};
  const auto expect_notes = [](const Wish& wish, const std::vector<std::string>& options) {
    const Cut cut = cut_of(wish);
    const std::vector<std::string> notes = cut.notes();
    ASSERT_EQ(notes.size(), options.size()) << cut.text(1);
    for (size_t i = 0; i < notes.size(); ++i) {
      EXPECT_EQ(notes[i].rfind(options[i] + " ", 0), 0U) << notes[i];
      EXPECT_NE(notes[i].find(" = 1"), std::string::npos) << notes[i];
    }
    EXPECT_FALSE(cut.adds_otherwise()) << "they change no sums";
  };
  expect_notes({.p = 2, .t = 2, .ranks = 8, .pipeline = gpipe, .communication = all}, {});
  expect_notes({.p = 2, .t = 1, .ranks = 4, .pipeline = gpipe, .communication = all},
               {"--scatter-gather-tensors-in-pipeline"});
  expect_notes({.p = 2, .t = 2, .ranks = 4, .pipeline = gpipe, .communication = all},
               {"--use-tp-pp-dp-mapping", "--no-overlap-grad-reduce", "--ddp-bucket-size"});
  expect_notes(
      {.p = 1, .t = 2, .ranks = 4, .pipeline = gpipe, .communication = all},
      {"--use-tp-pp-dp-mapping", "--scatter-gather-tensors-in-pipeline", "--schedule gpipe"});
  expect_notes({.p = 1, .ranks = 1, .communication = {.scatter_gather_tensors_in_pipeline = false}},
               {});
}

TEST(Cut, InterleavesMultiplesOfThePipeline) {
  config::PipelineOptions chunks = {.num_virtual_stages_per_pipeline_rank = 2};
  expect_refused({.global_batch = 20, .pipeline = chunks},
                 {"a global batch of 20 has 10 microbatches (b 2 x d 1 x m 10)",
                  "a multiple of p = 4", "use --global-batch-size 16 or 24, or --schedule gpipe"});
  expect_refused({.global_batch = 6, .pipeline = chunks}, {"use --global-batch-size 8, or"});
  expect_refused({.ranks = 8, .global_batch = 24, .pipeline = chunks},
                 {"b 2 x d 2 x m 6", "use --global-batch-size 16 or 32"});
  // With the batch growing, each size on the way.
  expect_refused({.global_batch = 16, .ramp_up = {"8", "4", "64"}, .pipeline = chunks},
                 {"a global batch of 12", "let the batch grow over sizes like 8 or 16"});
  EXPECT_EQ(cut_of({.global_batch = 24, .ramp_up = {"8", "8", "64"}, .pipeline = chunks}).schedule,
            ScheduleKind::interleaved);
  chunks.schedule = config::PipelineSchedule::gpipe;
  EXPECT_EQ(cut_of({.global_batch = 20, .pipeline = chunks}).schedule, ScheduleKind::gpipe);
}

TEST(Cut, GroupsOfTheInterleavedScheduleLieBetweenPAndM) {
  const auto grouped = [](int64_t group, int64_t global_batch) {
    return Wish{.global_batch = global_batch,
                .pipeline = {.num_virtual_stages_per_pipeline_rank = 2,
                             .microbatch_group_size_per_virtual_pipeline_stage = group}};
  };
  expect_refused(grouped(3, 16), {"stage 3", "at least p = 4 and at most m = 8", "use 4"});
  expect_refused(grouped(9, 16), {"stage 9", "at most m = 8", "use 8"});
  expect_refused(grouped(5, 16),
                 {"groups of 5", "at least p = 4", "use --global-batch-size 10 or 18"});
  expect_refused(grouped(4, 4), {"has 2 microbatches", "use --global-batch-size 8"});
  EXPECT_EQ(cut_of(grouped(5, 18)).group, 5);
}

TEST(Cut, BalancesStagesByTheWorkOfTheirPrograms) {
  const model::GptShape shape = {.layers = 12,
                                 .hidden = 768,
                                 .heads = 12,
                                 .ffn = 3072,
                                 .length = 256,
                                 .positions = 256,
                                 .vocabulary = 50257};
  const model::BatchShape batch = {.sequences = 1, .microbatches = 16};
  const parallel::Topology ranks(2, 1, 1);
  const parallel::StageCosts costs = stage_costs(shape, batch, ranks);
  EXPECT_LT(costs.embedding, costs.layer);
  // 2 h V FLOPs per token forward beside 24 h^2 (1 + s/(6h)): the paper's ratio, and some.
  EXPECT_GT(costs.head, 4 * costs.layer);
  EXPECT_LT(costs.head, 10 * costs.layer);
  config::PipelineOptions balanced = {.pipeline_layout = config::PipelineLayout::automatic};
  const parallel::Layout layout = pipeline_layout(balanced, shape, batch, ranks);
  EXPECT_EQ(layout.text(), "Et*9|t*3L") << "the head is worth five layers (docs/parallelism.md)";
  balanced.num_virtual_stages_per_pipeline_rank = 2;
  EXPECT_EQ(pipeline_layout(balanced, shape, batch, ranks).chunks_per_rank(), 2);
  EXPECT_EQ(pipeline_layout({}, shape, batch, ranks).layers_of, (std::vector<int>{6, 6}));
}

TEST(StageCosts, AddUpToThePaperCountOfAModelThatMemoryDoesNotLimit) {
  // Wide enough that products are nearly all there is.
  const model::GptShape shape = {.layers = 2,
                                 .hidden = 4096,
                                 .heads = 32,
                                 .ffn = 16384,
                                 .length = 2048,
                                 .positions = 2048,
                                 .vocabulary = 51200};
  const parallel::StageCosts costs =
      stage_costs(shape, {.sequences = 4, .microbatches = 64}, parallel::Topology(2, 1, 1));
  const double whole = 2 * costs.layer + costs.embedding + costs.head;
  const double paper = model::paper_model_flops(shape, 4);
  EXPECT_GT(whole, 0.95 * paper);
  EXPECT_LT(whole, 1.25 * paper);
}

class ScheduleFile : public ::testing::Test {
 protected:
  void SetUp() override {
    file_ = std::filesystem::temp_directory_path() /
            format("trireme_cut_test_{}.txt",
                   ::testing::UnitTest::GetInstance()->current_test_info()->name());
  }
  void TearDown() override { std::filesystem::remove(file_); }

  Wish wish(const schedule::Pipeline& order) {
    write_file(file_, schedule::print(order));
    return {.pipeline = {.schedule_file = file_}};
  }

  Path file_;
};

TEST_F(ScheduleFile, IsTheOrderOfTheLargestBatch) {
  const schedule::Pipeline order =
      schedule::make_pipeline(ScheduleKind::gpipe, {.stages = 4, .microbatches = 8});
  const Cut cut = cut_of(wish(order));
  EXPECT_EQ(cut.order, order);
  EXPECT_TRUE(cut.notes().empty());
}

TEST_F(ScheduleFile, MayAddGradientsInAnotherOrderWhichIsTold) {
  schedule::Pipeline order = {.microbatches = 8};
  for (int rank = 0; rank < 4; ++rank) {
    schedule::Schedule own = schedule::gpipe({.stages = 4, .microbatches = 8}, rank);
    std::reverse(own.actions.begin() + 8, own.actions.begin() + 16);
    order.ranks.push_back(own.actions);
  }
  const Cut cut = cut_of(wish(order));
  ASSERT_TRUE(cut.order);
  EXPECT_TRUE(cut.adds_otherwise());
  ASSERT_EQ(cut.notes().size(), 4U);
  EXPECT_NE(cut.notes()[1].find("rank 1 adds the gradients of chunk 0 in another order"),
            std::string::npos)
      << cut.notes()[1];
}

TEST_F(ScheduleFile, HasTheSizesOfTheRun) {
  const auto order_of = [](int stages, int microbatches) {
    return schedule::make_pipeline(ScheduleKind::gpipe,
                                   {.stages = stages, .microbatches = microbatches});
  };
  expect_refused(wish(order_of(2, 8)), {"is for p = 2, v = 1, m = 8",
                                        "the run has p = 4, v = 1, m = 8", "trireme schedule"});
  expect_refused(wish(order_of(4, 4)), {"is for p = 4, v = 1, m = 4", "--num-microbatches 8"});
  Wish chunks = wish(order_of(4, 8));
  chunks.pipeline.num_virtual_stages_per_pipeline_rank = 2;
  expect_refused(chunks, {"the run has p = 4, v = 2, m = 8"});
}

TEST_F(ScheduleFile, IsCheckedLikeEveryOrder) {
  expect_refused(
      wish(schedule::make_pipeline(ScheduleKind::forward_only, {.stages = 4, .microbatches = 8})),
      {"has forwards only"});
  schedule::Pipeline order =
      schedule::make_pipeline(ScheduleKind::gpipe, {.stages = 4, .microbatches = 8});
  order.ranks[2].erase(order.ranks[2].begin());
  EXPECT_NE(refusal_of(wish(order), Error::Kind::run).find("rank"), std::string::npos);
  write_file(file_, "no schedule");
  EXPECT_NE(
      refusal_of({.pipeline = {.schedule_file = file_}}, Error::Kind::run).find(file_.string()),
      std::string::npos);
}

}  // namespace
}  // namespace trireme::train
