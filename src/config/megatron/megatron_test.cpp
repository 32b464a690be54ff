// Launch scripts as they are pasted, and properties of the tables. That the tables agree with the
// fields of the subcommands is held where those are known (app/pages_test.cpp).

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include "config/groups/preprocess.h"
#include "config/testing.h"
#include "config/testing_trainer.h"
#include "core/file.h"

namespace trireme::config::megatron {
namespace {

using testing::contains;
using testing::failure_of;
using testing::Trainer;

// As a shell splits a line without quotes.
Words split(const std::string& line) {
  std::istringstream stream(line);
  Words words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

struct Outcome {
  std::string failure;
  Words notes;
};

Outcome train(const std::string& script) {
  Trainer trainer;
  Outcome outcome;
  outcome.failure = failure_of([&] { trainer.options.read(split(script)); });
  outcome.notes = trainer.options.notes();
  return outcome;
}

bool starts_with(const std::string& text, const std::string& start) {
  return text.rfind(start, 0) == 0;
}

const std::string kSmall =
    "--num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 32 --micro-batch-size 2 "
    "--train-iters 10 --lr 1e-3 ";

// The options of the recipe for 175 billion parameters, as scripts of the last years have them.
const std::string k175B =
    "--use-mcore-models --num-layers 96 --hidden-size 12288 --num-attention-heads 96 "
    "--seq-length 2048 --max-position-embeddings 2048 --attention-backend auto "
    "--micro-batch-size 1 --global-batch-size 1536 --train-iters 500000 --weight-decay 0.1 "
    "--adam-beta1 0.9 --adam-beta2 0.95 --init-method-std 0.006 --clip-grad 1.0 --fp16 --lr 6.0e-5 "
    "--lr-decay-style cosine --min-lr 6.0e-6 --lr-warmup-fraction .001 --lr-decay-iters 430000 "
    "--tensor-model-parallel-size 8 --pipeline-model-parallel-size 16 --swiglu "
    "--context-parallel-size 2 --moe-aux-loss-coeff 1e-2 1e-3 --data-path my-gpt2_text_document "
    "--vocab-file vocab.json --merge-file merges.txt --split 949,50,1 --log-interval 100 "
    "--save-interval 10000 --eval-interval 1000 --eval-iters 10 --save CK --load CK "
    "--wandb-project runs --no-load-optim";

TEST(PastedScript, ThatCannotRunGetsOneMessageWithAllThatHasToChange) {
  const Outcome outcome = train(k175B);
  EXPECT_TRUE(starts_with(outcome.failure, "2: command line: 6 things to change\n"))
      << outcome.failure;
  for (const std::string part :
       {"\n  --fp16 is not supported; this version computes in fp32; leave it out to train in "
        "fp32\n",
        "\n  --swiglu is not supported; the activation of the MLP is GELU; leave it out\n",
        "\n  --context-parallel-size 2 is not supported; a sequence is not cut over ranks; use 1 "
        "or "
        "leave it out\n",
        "\n  --moe-aux-loss-coeff is not supported; ", "\n  --wandb-project is not supported; ",
        "\n  --no-load-optim is not supported; "}) {
    EXPECT_TRUE(contains(outcome.failure, part)) << part << "\nin\n" << outcome.failure;
  }
  EXPECT_FALSE(contains(outcome.failure, "attention-backend"));
  EXPECT_FALSE(contains(outcome.failure, "missing")) << outcome.failure;
  EXPECT_TRUE(outcome.notes.empty());
}

TEST(PastedScript, OfASmallGptWorksWithNotes) {
  const Outcome outcome = train(
      "--use-mcore-models --transformer-impl local --use-flash-attn --no-bias-dropout-fusion "
      "--num-layers 12 --hidden-size 512 --num-attention-heads 8 --encoder-seq-length 1024 "
      "--max-position-embeddings 1024 --layernorm-epsilon 1e-5 --micro-batch-size 4 "
      "--global-batch-size 8 --lr 0.00015 --train-iters 500000 --lr-decay-iters 320000 "
      "--lr-decay-style cosine --min-lr 1.0e-5 --weight-decay 1e-2 --lr-warmup-fraction .01 "
      "--clip-grad 1.0 --optimizer adam --context-parallel-size 1 --position-embedding-type "
      "learned_absolute --distributed-backend nccl --attention-softmax-in-fp32 "
      "--no-masked-softmax-fusion --tokenizer-type GPT2BPETokenizer --data-path "
      "my-gpt2_text_document "
      "--vocab-file gpt2-vocab.json --merge-file gpt2-merges.txt --data-impl mmap --split 949,50,1 "
      "--num-workers 2 --dataloader-type single --log-interval 100 --save CK "
      "--persistent-save-interval 10000 "
      "--eval-interval 1000 --eval-iters 10 --local_rank=0 --ddp-bucket-size 40000000 "
      "--ckpt-format torch");
  EXPECT_EQ(outcome.failure, "");
  EXPECT_EQ(outcome.notes.size(), 15U);
  EXPECT_EQ(outcome.notes.front(), "--use-mcore-models: there is one implementation of the model");
  for (const std::string& note : outcome.notes) {
    EXPECT_TRUE(starts_with(note, "--")) << note;
    EXPECT_EQ(std::count(note.begin(), note.end(), '\n'), 0) << note;
  }
}

TEST(PastedScript, TellsMistypedAndMalformedOptionsInTheSameMessage) {
  const Outcome outcome = train(
      "--num-layers 2 --hiden-size 64 extra --num-attention-heads 4 --seq-length 32.5 --bf16 "
      "--micro-batch-size 2 --train-iters 10 --lr 1e-3 --lr 1e-4 --lr-decay-style polynomial");
  EXPECT_EQ(
      outcome.failure,
      "2: trireme train: 6 things to change\n"
      "  command line: there is no option --hiden-size; the nearest is --hidden-size\n"
      "  command line: --seq-length '32.5' is not a whole number in digits; --seq-length takes "
      "a whole number in [1, 1048576] (tokens); write digits, as in 12\n"
      "  command line: --bf16 is not supported; this version computes in fp32; leave it out to "
      "train in fp32\n"
      "  command line: --lr is given twice; each option is given at most once; remove one of "
      "them\n"
      "  command line: --lr-decay-style is 'polynomial'; --lr-decay-style takes one of constant, "
      "linear, cosine, inverse-square-root, WSD; use constant\n"
      "  --hidden-size is missing; it has no default; give it on the command line or in a file "
      "for --config");
}

TEST(PastedScript, ChecksRulesBetweenOptionsTogetherWithWhatIsRefused) {
  const Outcome outcome = train(kSmall + "--fp16 --min-lr 1 --global-batch-size 5");
  EXPECT_TRUE(starts_with(outcome.failure, "2: command line: 3 things to change\n"))
      << outcome.failure;
  EXPECT_TRUE(contains(outcome.failure, "--fp16")) << outcome.failure;
  EXPECT_TRUE(contains(outcome.failure, "min-lr 1 is above lr 0.001")) << outcome.failure;
  EXPECT_TRUE(contains(outcome.failure, "use global-batch-size 4 or 6")) << outcome.failure;
}

TEST(PastedScript, ReadsOnBehindOptionsOfEachNumberOfWords) {
  // What follows belongs to the option, or to none: nothing here is taken for a stray word.
  const Outcome outcome = train(kSmall +
                                "--recompute-modules core_attn mlp --kv-channels 64 --swiglu "
                                "--no-such-option-at-all 1 2 3 --seed 7");
  EXPECT_TRUE(starts_with(outcome.failure, "2: command line: 4 things to change\n"))
      << outcome.failure;
  EXPECT_FALSE(contains(outcome.failure, "belongs to no option")) << outcome.failure;
  const Outcome stray = train(kSmall + "--swiglu 1");
  EXPECT_TRUE(contains(stray.failure, "'1' belongs to no option")) << stray.failure;
}

TEST(PastedScript, KnowsNamesThatBeginWithNoBeforeNegations) {
  EXPECT_TRUE(
      contains(train(kSmall + "--no-save-optim").failure, "--no-save-optim is not supported"));
  EXPECT_EQ(train(kSmall + "--no-persist-layer-norm").failure, "");
  EXPECT_EQ(train(kSmall + "--no-untie-embeddings-and-output-weights").failure, "");
  // --save is no flag, so this is neither.
  EXPECT_TRUE(contains(train(kSmall + "--no-save").failure, "there is no option --no-save"));
}

TEST(PastedScript, ComparesNumbersAsNumbersAndRefusesValuesThatMeanSomethingElse) {
  EXPECT_EQ(train(kSmall + "--context-parallel-size 01").failure, "");
  EXPECT_EQ(train(kSmall + "--vocab-extra-ids=0").failure, "");
  EXPECT_EQ(
      train(kSmall + "--transformer-impl inference_optimized").failure,
      "2: command line: --transformer-impl inference_optimized is not supported; there is one "
      "implementation of the model; use local, transformer_engine or leave it out");
  EXPECT_EQ(train(kSmall + "--distributed-backend").failure,
            "2: command line: --distributed-backend has no value; it takes one");
  EXPECT_EQ(train(kSmall + "--use-flash-attn=2").failure,
            "2: command line: --use-flash-attn was given '2'; it takes no value (a flag)");
}

TEST(PastedScript, HasTheOptionsOfACutOverRanks) {
  Trainer trainer;
  trainer.options.read(split(
      kSmall +
      "--tensor-model-parallel-size 2 --pipeline-model-parallel-size 4 "
      "--num-virtual-stages-per-pipeline-rank 3 --use-tp-pp-dp-mapping --ddp-bucket-size 40000000 "
      "--no-scatter-gather-tensors-in-pipeline --overlap-grad-reduce "
      "--microbatch-group-size-per-virtual-pipeline-stage 6"));
  EXPECT_TRUE(trainer.options.notes().empty());
  EXPECT_EQ(trainer.pipeline.num_virtual_stages_per_pipeline_rank, 3);
  EXPECT_EQ(trainer.pipeline.microbatch_group_size_per_virtual_pipeline_stage, 6);
  EXPECT_TRUE(trainer.communication.use_tp_pp_dp_mapping);
  EXPECT_EQ(trainer.communication.ddp_bucket_size, 40'000'000);
  EXPECT_EQ(trainer.communication.scatter_gather_tensors_in_pipeline, false);
  EXPECT_TRUE(contains(train(kSmall + "--decoder-first-pipeline-num-layers 3").failure,
                       "use --pipeline-model-parallel-layout"));
}

TEST(PastedScript, OfThePreprocessorIsJudgedByItsOwnTable) {
  const auto preprocess = [](const std::string& script) {
    PreprocessOptions options;
    TokenizerOptions tokenizer;
    OptionSet set("trireme preprocess");
    set.add(options);
    set.add(tokenizer);
    set.replace(preprocess_data());
    return failure_of([&] { set.read(split(script)); });
  };
  const std::string usual =
      "--input corpus.jsonl --output-prefix my-gpt2 --vocab-file v --merge-file m --append-eod "
      "--workers 32 --tokenizer-type GPT2BPETokenizer --dataset-impl mmap --partitions 4 "
      "--keep-sequential-samples --log-interval 1000 ";
  EXPECT_EQ(preprocess(usual), "");
  EXPECT_TRUE(
      contains(preprocess(usual + "--split-sentences"), "--split-sentences is not supported"));
  EXPECT_TRUE(contains(preprocess(usual + "--vocab x"), "use --vocab-file"));
  EXPECT_TRUE(contains(preprocess(usual + "--fp16"), "there is no option --fp16"));
}

TEST(RunFileWithMegatronsNames, IsJudgedAsACommandLine) {
  const Path path = std::filesystem::temp_directory_path() / "trireme_megatron_test.toml";
  const auto read = [&](const std::string& toml) {
    write_file(path, toml);
    return train(kSmall + "--config " + path.string());
  };
  const Outcome works = read(
      "use_flash_attn = true\ndistributed-backend = 'nccl'\nfp16 = false\nddp-bucket-size = 2\n");
  EXPECT_EQ(works.failure, "");
  EXPECT_EQ(works.notes,
            (Words{"use_flash_attn: the program has one implementation of each op",
                   "distributed-backend nccl: ranks exchange data by this program's own means "
                   "(threads, MPI); no result depends on them"}));
  const Outcome refused = read("fp16 = true\nswiglu = 1\ncp-comm-type = ['p2p', 'a2a']\n");
  std::filesystem::remove(path);
  EXPECT_EQ(
      refused.failure,
      format("2: trireme train: 3 things to change\n"
             "  {0}:1: fp16 is not supported; this version computes in fp32; leave it out to "
             "train in fp32\n"
             "  {0}:2: swiglu was given '1'; it takes no value (a flag)\n"
             "  {0}:3: cp-comm-type is not supported; a sequence is not cut over ranks; leave "
             "it out",
             path.string()));
}

TEST(Help, SaysThatAScriptsOptionsCanBePasted) {
  const Trainer trainer;
  EXPECT_TRUE(contains(trainer.options.help("Trains.", "", 200), "pretrain_gpt.py can be pasted"));
  EXPECT_FALSE(contains(OptionSet("trireme test").help("Tests.", "", 200), "can be pasted"));
}

class EveryScript : public ::testing::TestWithParam<const Script*> {};
INSTANTIATE_TEST_SUITE_P(Scripts, EveryScript,
                         ::testing::Values(&pretrain_gpt(), &preprocess_data(), &tasks()),
                         [](const auto& script) {
                           std::string name = script.param->name;
                           name.resize(name.find('.'));
                           std::replace(name.begin(), name.end(), '/', '_');
                           return name;
                         });

TEST_P(EveryScript, NamesEachOptionOnceAndSaysWhatHasToBeSaid) {
  std::set<std::string> names;
  for (const Section& section : GetParam()->sections) {
    EXPECT_FALSE(section.title.empty());
    EXPECT_FALSE(section.options.empty()) << section.title;
    for (const Option& option : section.options) {
      SCOPED_TRACE(option.name);
      EXPECT_TRUE(names.insert(option.name).second) << "twice";
      EXPECT_EQ(option.name, normalised(option.name));
      EXPECT_EQ(GetParam()->find(option.name), &option);
      EXPECT_EQ(option.note.empty(), option.status == Status::same);
      EXPECT_EQ(option.remedy().empty(),
                option.status == Status::same ||
                    (option.status == Status::always && option.values.empty()));
      EXPECT_TRUE(option.values.empty() ||
                  (option.status == Status::always && option.takes == Takes::one));
      for (const std::string& text : {option.note, option.instead}) {
        EXPECT_TRUE(text.empty() || (text.back() != '.' && text.back() != ' ')) << text;
      }
    }
  }
}

TEST(PretrainGpt, CoversTheOptionsOfItsScripts) {
  // Those that a user of Megatron-LM meets first.
  const std::string names =
      "num-layers hidden-size num-attention-heads max-position-embeddings seq-length "
      "ffn-hidden-size "
      "kv-channels group-query-attention num-query-groups normalization swiglu disable-bias-linear "
      "position-embedding-type untie-embeddings-and-output-weights make-vocab-size-divisible-by "
      "hidden-dropout attention-dropout norm-epsilon init-method-std micro-batch-size "
      "global-batch-size step-batch-size-schedule rampup-batch-size train-iters train-samples "
      "exit-interval exit-duration-in-mins exit-signal-handler optimizer lr min-lr weight-decay "
      "clip-grad adam-beta1 adam-beta2 adam-eps lr-decay-style lr-decay-iters lr-decay-samples "
      "lr-warmup-fraction lr-warmup-iters lr-warmup-samples lr-warmup-init lr-wsd-decay-style "
      "lr-wsd-decay-iters lr-wsd-decay-samples bf16 fp16 loss-scale initial-loss-scale "
      "loss-scale-window hysteresis fp32-residual-connection tensor-model-parallel-size "
      "pipeline-model-parallel-size num-layers-per-virtual-pipeline-stage "
      "num-virtual-stages-per-pipeline-rank sequence-parallel context-parallel-size "
      "use-distributed-optimizer overlap-grad-reduce overlap-param-gather use-tp-pp-dp-mapping "
      "recompute-activations recompute-granularity recompute-method recompute-num-layers "
      "recompute-modules data-path train-data-path valid-data-path test-data-path data-args-path "
      "split data-cache-path mock-data num-workers seed reset-position-ids reset-attention-mask "
      "eod-mask-loss save load save-interval save-retain-interval ckpt-format ckpt-step finetune "
      "no-load-optim no-load-rng use-checkpoint-args async-save eval-interval eval-iters "
      "log-interval log-throughput log-params-norm log-num-zeros-in-grad timing-log-level "
      "tensorboard-dir wandb-project wandb-exp-name log-progress distributed-timeout-minutes "
      "tokenizer-type vocab-file merge-file tokenizer-model vocab-size local_rank";
  for (const std::string& name : split(names)) {
    EXPECT_NE(pretrain_gpt().find(name), nullptr) << name;
  }
  for (const std::string& name :
       split("input json-keys output-prefix workers partitions append-eod split-sentences "
             "keep-newlines lang keep-sequential-samples log-interval find-optimal-num-workers "
             "workers-to-check max-documents tokenizer-type vocab-file merge-file tokenizer-model "
             "vocab-size")) {
    EXPECT_NE(preprocess_data().find(name), nullptr) << name;
  }
}

}  // namespace
}  // namespace trireme::config::megatron
