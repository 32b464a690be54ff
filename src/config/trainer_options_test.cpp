// What a training run may be told, and the rules of single groups.

#include <gtest/gtest.h>

#include <chrono>

#include "config/groups/batch.h"
#include "config/groups/engine.h"
#include "config/groups/generate.h"
#include "config/groups/model.h"
#include "config/groups/tokenizer_train.h"
#include "config/option_set.h"
#include "config/run_file.h"
#include "config/testing.h"
#include "config/testing_trainer.h"

namespace trireme::config {
namespace {

using testing::contains;
using testing::failure_of;
using testing::Trainer;

const Words kSmall = {
    "--num-layers", "2",   "--hidden-size",      "64", "--num-attention-heads", "4",
    "--seq-length", "32",  "--micro-batch-size", "2",  "--train-iters",         "10",
    "--lr",         "1e-3"};

std::string trainer_refusal(const Words& more) {
  Words arguments = kSmall;
  arguments.insert(arguments.end(), more.begin(), more.end());
  return failure_of([&] {
    Trainer trainer;
    trainer.options.read(arguments);
  });
}

TEST(Trainer, ReadsAPastedLaunchLine) {
  Trainer trainer;
  trainer.options.read(Words{"--num-layers",
                             "96",
                             "--hidden-size",
                             "12288",
                             "--num-attention-heads",
                             "96",
                             "--seq-length",
                             "2048",
                             "--max-position-embeddings",
                             "2048",
                             "--micro-batch-size",
                             "1",
                             "--global-batch-size",
                             "1536",
                             "--train-iters",
                             "500000",
                             "--lr",
                             "6e-5",
                             "--min-lr",
                             "6e-6",
                             "--lr-decay-style",
                             "cosine",
                             "--lr-warmup-fraction",
                             ".001",
                             "--lr-decay-iters",
                             "430000",
                             "--weight-decay",
                             "0.1",
                             "--adam-beta1",
                             "0.9",
                             "--adam-beta2",
                             "0.95",
                             "--init-method-std",
                             "0.006",
                             "--clip-grad",
                             "1.0",
                             "--tensor-model-parallel-size",
                             "8",
                             "--pipeline-model-parallel-size",
                             "16",
                             "--data-path",
                             "0.3",
                             "a",
                             "0.7",
                             "b",
                             "--vocab-file",
                             "vocab.json",
                             "--merge-file",
                             "merges.txt",
                             "--split",
                             "949,50,1",
                             "--log-interval",
                             "100",
                             "--save-interval",
                             "10000",
                             "--eval-interval",
                             "1000",
                             "--eval-iters",
                             "10",
                             "--save",
                             "CK",
                             "--load",
                             "CK"});
  EXPECT_EQ(trainer.model.hidden_size, 12288);
  EXPECT_EQ(trainer.model.ffn(), 4 * 12288);
  EXPECT_EQ(trainer.optimizer.lr, 6e-5);
  EXPECT_EQ(trainer.optimizer.lr_decay_style, LrDecayStyle::cosine);
  EXPECT_EQ(trainer.parallel.tensor_model_parallel_size, 8);
  EXPECT_EQ(trainer.data.data_path, (Words{"0.3", "a", "0.7", "b"}));
  EXPECT_EQ(trainer.checkpoint.save, "CK");

  Trainer again;
  again.options.read_saved(save_toml(trainer.options.views()), "saved");
  EXPECT_EQ(again.model, trainer.model);
  EXPECT_EQ(again.batch, trainer.batch);
  EXPECT_EQ(again.optimizer, trainer.optimizer);
  EXPECT_EQ(again.parallel, trainer.parallel);
  EXPECT_EQ(again.pipeline, trainer.pipeline);
  EXPECT_EQ(again.communication, trainer.communication);
  EXPECT_EQ(again.engine, trainer.engine);
  EXPECT_EQ(again.data, trainer.data);
  EXPECT_EQ(again.tokenizer, trainer.tokenizer);
  EXPECT_EQ(again.checkpoint, trainer.checkpoint);
  EXPECT_EQ(again.logging, trainer.logging);
}

TEST(Trainer, SavedRunGivesAPartOfItsGroupsToAnother) {
  Trainer trainer;
  trainer.options.read(kSmall);
  const std::string saved = save_toml(trainer.options.views());
  ModelOptions model;
  OptionSet options("trireme generate");
  options.add(model);
  options.read_saved(saved, "saved", OtherGroups::skip);
  EXPECT_EQ(model, trainer.model);
  EXPECT_TRUE(contains(failure_of([&] { options.read_saved(saved, "saved"); }),
                       "there is no option micro-batch-size"));
  EXPECT_TRUE(contains(
      failure_of([&] { options.read_saved(saved + "lrr = 1\n", "saved", OtherGroups::skip); }),
      "there is no option lrr"));
}

TEST(Trainer, HasMegatronsDefaults) {
  EXPECT_EQ(trainer_refusal({}), "");
  Trainer trainer;
  trainer.options.read(kSmall);
  EXPECT_EQ(trainer.model.hidden_dropout, 0.1);
  EXPECT_EQ(trainer.model.positions(), 32);
  EXPECT_EQ(trainer.model.make_vocab_size_divisible_by, 128);
  EXPECT_EQ(trainer.batch.seed, 1234);
  EXPECT_EQ(trainer.optimizer.weight_decay, 0.01);
  EXPECT_EQ(trainer.optimizer.adam_beta2, 0.999);
  EXPECT_EQ(trainer.optimizer.lr_decay_style, LrDecayStyle::linear);
  EXPECT_EQ(trainer.data.split_or_default(), "969, 30, 1");
  EXPECT_EQ(trainer.data.num_workers, 2);
  EXPECT_EQ(trainer.logging.eval_iters, 100);
}

TEST(Trainer, OverlapsReductionsAndChoosesOrderAndScatterGatherUnlessTold) {
  Trainer trainer;
  trainer.options.read(kSmall);
  EXPECT_TRUE(trainer.communication.overlap_grad_reduce) << "Megatron-LM's default is off";
  EXPECT_EQ(trainer.communication.ddp_bucket_size * 4, 4 << 20);
  EXPECT_EQ(trainer.communication.scatter_gather_tensors_in_pipeline, std::nullopt);
  EXPECT_EQ(trainer.pipeline.schedule, std::nullopt);
  Trainer told;
  Words arguments = kSmall;
  for (const char* word : {"--no-overlap-grad-reduce", "--scatter-gather-tensors-in-pipeline",
                           "--pipeline-layout", "auto", "--schedule", "gpipe"})
    arguments.emplace_back(word);
  told.options.read(arguments);
  EXPECT_FALSE(told.communication.overlap_grad_reduce);
  EXPECT_EQ(told.communication.scatter_gather_tensors_in_pipeline, true);
  EXPECT_TRUE(told.pipeline.balanced());
  EXPECT_EQ(told.pipeline.schedule, PipelineSchedule::gpipe);
}

TEST(Trainer, RefusesOptionsThatDoNotGoTogether) {
  const std::vector<std::pair<Words, std::string>> cases = {
      {{"--max-position-embeddings", "16"}, "max-position-embeddings 16 is below seq-length 32"},
      {{"--global-batch-size", "5"}, "use global-batch-size 4 or 6"},
      {{"--data-path", "a", "--mock-data"}, "data-path and mock-data are both given"},
      {{"--data-path", "a", "--data-args-path", "b"},
       "data-path and data-args-path are both given"},
      {{"--data-path", "a", "--valid-data-path", "b"},
       "data-path and valid-data-path are both given"},
      {{"--train-data-path", "a", "--data-args-path", "b"},
       "data-args-path and train-data-path are both given"},
      {{"--valid-data-path", "a"}, "valid-data-path without train-data-path"},
      {{"--test-data-path", "a"}, "test-data-path without train-data-path"},
      {{"--train-data-path", "a", "--split", "1"}, "split has no effect with train-data-path"},
      {{"--mock-data", "--split", "1"}, "split has no effect with mock-data"},
      {{"--mock-data", "--data-cache-path", "a"}, "data-cache-path has no effect with mock-data"},
      {{"--global-batch-size", "1"}, "use global-batch-size 2"},
      {{"--min-lr", "0.1"}, "min-lr 0.1 is above lr 0.001"},
      {{"--lr-warmup-init", "0.1"}, "lr-warmup-init 0.1 is above lr 0.001"},
      {{"--lr-warmup-iters", "3", "--lr-warmup-fraction", "0.1"}, "are both given"},
      {{"--lr-warmup-iters", "5", "--lr-decay-iters", "5"}, "is not below lr-decay-iters 5"},
      {{"--vocab-file", "v"}, "vocab-file without merge-file"},
      {{"--merge-file", "m"}, "merge-file without vocab-file"},
      {{"--tokenizer-model", "t", "--vocab-file", "v", "--merge-file", "m"},
       "tokenizer-model and vocab-file are both given"},
      {{"--tokenizer-model", "t", "--merge-file", "m"},
       "tokenizer-model and merge-file are both given"},
      {{"--save-interval", "5"}, "save-interval without save"},
      {{"--keep-last", "5"}, "keep-last without save"},
      {{"--save-retain-interval", "5"}, "save-retain-interval without save"},
      {{"--save", "a", "--save-interval", "4", "--save-retain-interval", "10"}, "use 12"},
      {{"--num-virtual-stages-per-pipeline-rank", "2", "--num-layers-per-virtual-pipeline-stage",
        "1"},
       "num-virtual-stages-per-pipeline-rank and num-layers-per-virtual-pipeline-stage are both"},
      {{"--pipeline-model-parallel-layout", "Et|tL", "--num-virtual-stages-per-pipeline-rank", "1"},
       "the layout's text says how many chunks"},
      {{"--pipeline-model-parallel-layout", "Et|tL", "--num-layers-per-virtual-pipeline-stage",
        "1"},
       "the layout's text says how many layers"},
      {{"--pipeline-model-parallel-layout", "Et|tL", "--pipeline-layout", "equal"},
       "pipeline-model-parallel-layout and pipeline-layout are both given"},
      {{"--pipeline-layout", "auto", "--num-layers-per-virtual-pipeline-stage", "1"},
       "use num-virtual-stages-per-pipeline-rank with it"},
      {{"--schedule-file", "mine.txt", "--schedule", "gpipe"},
       "schedule-file and schedule are both given"},
      {{"--schedule-file", "mine.txt", "--microbatch-group-size-per-virtual-pipeline-stage", "2"},
       "the file says the order"},
      {{"--schedule", "1f1b", "--microbatch-group-size-per-virtual-pipeline-stage", "2"},
       "use schedule interleaved"},
      {{"--exit-on-missing-checkpoint"}, "exit-on-missing-checkpoint without load"},
  };
  for (const auto& [more, part] : cases) {
    const std::string refusal = trainer_refusal(more);
    EXPECT_TRUE(contains(refusal, "2: command line: ")) << refusal;
    EXPECT_TRUE(contains(refusal, part)) << refusal;
  }
}

TEST(Model, RefusesHeadsThatDoNotDivideTheHiddenSize) {
  ModelOptions model = {
      .num_layers = 1, .hidden_size = 100, .num_attention_heads = 12, .seq_length = 8};
  EXPECT_EQ(failure_of([&] { check(model, "model"); }),
            "2: model: hidden-size 100 is not a multiple of num-attention-heads 12; each head "
            "takes an equal part; use hidden-size 96 or 108");
  model.hidden_size = 5;
  EXPECT_TRUE(contains(failure_of([&] { check(model, "model"); }), "use hidden-size 12"));
}

TEST(Batch, RefusesMoreSequencesThanRandomNumbersCount) {
  BatchOptions batch = {.micro_batch_size = 1024, .train_iters = int64_t{1} << 30};
  EXPECT_EQ(batch.validate(), std::nullopt);
  batch.train_iters = *batch.train_iters + 1;
  EXPECT_EQ(batch.validate()->remedy, "use train-iters 1073741824 or less");
}

TEST(Engine, TakesTheTimeoutInOneUnit) {
  EngineOptions engine;
  EXPECT_EQ(engine.timeout(), std::chrono::minutes(10));
  engine.distributed_timeout_minutes = 2;
  EXPECT_EQ(engine.timeout(), std::chrono::minutes(2));
  EXPECT_EQ(engine.validate(), std::nullopt);
  engine.distributed_timeout_seconds = 120;
  EXPECT_EQ(engine.validate()->names,
            (Words{"distributed-timeout-minutes", "distributed-timeout-seconds"}));
  engine.distributed_timeout_minutes.reset();
  EXPECT_EQ(engine.validate(), std::nullopt);
}

TEST(Generate, RefusesSamplingLimitsForGreedyDecoding) {
  GenerateOptions generate = {.load = "x", .temperature = 0};
  EXPECT_EQ(generate.validate(), std::nullopt);
  generate.top_p = 0.9;
  EXPECT_EQ(generate.validate()->what, "top-p with temperature 0");
  generate = {.load = "x", .greedy = true};
  EXPECT_EQ(generate.validate(), std::nullopt);
  generate.top_k = 3;
  EXPECT_EQ(generate.validate()->what, "top-k with greedy");
  generate = {.load = "x", .greedy = true, .temperature = 0.5};
  EXPECT_EQ(generate.validate()->what, "temperature with greedy");
}

TEST(Generate, TakesPromptsFromOnePlace) {
  GenerateOptions generate = {.load = "x", .prompt = "a"};
  EXPECT_EQ(generate.validate(), std::nullopt);
  generate.prompts_format = PromptsFormat::jsonl;
  EXPECT_EQ(generate.validate()->names, Words{"prompts-format"});
  generate.prompts = "-";
  EXPECT_EQ(generate.validate()->names, (Words{"prompt", "prompts"}));
  generate.prompt.reset();
  EXPECT_EQ(generate.validate(), std::nullopt);
}

TEST(TokenizerTrain, RefusesAVocabularyThatIsTooSmallForItsFixedPart) {
  TokenizerTrainOptions train = {.vocab_size = 257};
  EXPECT_EQ(train.validate(), std::nullopt);
  train.special_tokens = {"<a>", "<b>"};
  EXPECT_EQ(train.validate()->remedy, "use vocab-size 258 or more");
}

}  // namespace
}  // namespace trireme::config
