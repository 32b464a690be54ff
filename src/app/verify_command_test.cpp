// trireme verify from the command line: what a run's own options make of it, in full and tiny.

#include <nlohmann/json.hpp>
#include <utility>

#include "app/run_fixture.h"

namespace trireme::app {
namespace {

class VerifyTest : public RunTest {
 protected:
  // A run of one layer or two on the fixture's data.
  static std::string small(const std::string& command, int layers, const std::string& more) {
    return format(
        "{} --num-layers {} --hidden-size 32 --num-attention-heads 2 --seq-length 32 "
        "--micro-batch-size 4 --global-batch-size 8 --lr 1e-2 --lr-warmup-iters 2 --train-iters 30 "
        "--split 90,10 --data-path corpus_text_document {} {}",
        command, layers, kTokenizer, more);
  }
  // A run that is too large for a test in full.
  static std::string large(const std::string& batch, const std::string& more) {
    return "verify --num-layers 48 --hidden-size 1024 --num-attention-heads 16 --seq-length 512 "
           "--train-iters 100 --lr 1e-3 --lr-warmup-iters 10 --vocab-size 50000 --mock-data "
           "--micro-batch-size " +
           batch + " " + more;
  }
};

TEST_F(VerifyTest, TakesTheOptionsOfATrainingRunAndItsData) {
  const Outcome outcome =
      run(small("verify", 2,
                "--eod-mask-loss --save no --ranks 4 --tensor-model-parallel-size 2 "
                "--pipeline-model-parallel-size 2 --steps 2 --all"));
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_TRUE(contains(outcome.text, "are within tolerance")) << outcome.text;
  EXPECT_TRUE(contains(outcome.text, "decoder.layers.1.mlp.linear_fc2.weight"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "no")) << "nothing is saved";
}

TEST_F(VerifyTest, EndsWithOneWhereATensorIsOutAndNamesIt) {
  // Devices on which everything is right but one element of one gradient, and everything.
  const std::string tensor = "decoder.layers.1.mlp.linear_fc1.weight";
  const Outcome wrong = run(small("verify", 2, format("--steps 1 --device '{}'", WRONG_PLUGIN)));
  EXPECT_EQ(wrong.status, 1) << wrong.text;
  EXPECT_TRUE(contains(wrong.text, "step 1: gradient of " + tensor)) << wrong.text;
  EXPECT_FALSE(contains(wrong.text, "are within tolerance")) << wrong.text;
  const Outcome json =
      run(small("verify", 2, format("--steps 1 --json --device '{}'", WRONG_PLUGIN)));
  EXPECT_EQ(json.status, 1) << json.text;
  EXPECT_TRUE(contains(json.text, "\"sound\": false")) << json.text;
  const Outcome right = run(small("verify", 2, "--steps 1 --device null"));
  EXPECT_EQ(right.status, 0) << right.text;
  EXPECT_TRUE(contains(right.text, "are within tolerance")) << right.text;
}

TEST_F(VerifyTest, ContinuesACheckpointInAnotherLayout) {
  ASSERT_EQ(run(small("train", 1, "--exit-interval 4 --save saved --eval-iters 0")).status, 0);
  const Outcome outcome =
      run(small("verify", 1,
                "--load saved --ranks 2 --tensor-model-parallel-size 2 --steps 1 "
                "--json"));
  ASSERT_EQ(outcome.status, 0) << outcome.text;
  const auto json = nlohmann::json::parse(outcome.text.substr(outcome.text.find("{\n")));
  EXPECT_EQ(json["sound"], true);
  bool moments = false;
  for (const auto& one : json["comparisons"]) {
    if (one["quantity"] != "start" || one["name"] !=
                                          "decoder.layers.0.mlp.linear_fc1.weight, "
                                          "second moment")
      continue;
    moments = true;
    EXPECT_GT(one["scale"], 0);
    EXPECT_EQ(one["different"], 0);
  }
  EXPECT_TRUE(moments);
}

TEST_F(VerifyTest, IsTinyWithEveryCutOfALargeRun) {
  const std::string b4 = "4 --global-batch-size 256";
  const std::string b1 = "1 --global-batch-size 256";
  for (const auto& [batch, cut] :
       {std::pair{b4, "--ranks 2 --tensor-model-parallel-size 2"},
        std::pair{b4,
                  "--ranks 8 --pipeline-model-parallel-size 2 --tensor-model-parallel-size 2 "
                  "--num-layers-per-virtual-pipeline-stage 4 --no-overlap-grad-reduce"},
        std::pair{b1,
                  "--ranks 6 --pipeline-model-parallel-size 3 --pipeline-layout auto "
                  "--untie-embeddings-and-output-weights"},
        std::pair{b4,
                  "--ranks 4 --pipeline-model-parallel-size 2 --use-tp-pp-dp-mapping --schedule "
                  "gpipe --rampup-batch-size 64 64 512"}}) {
    const Outcome outcome = run(large(batch, format("{} --scale tiny --steps 2", cut)));
    EXPECT_EQ(outcome.status, 0) << cut << "\n" << outcome.text;
    EXPECT_TRUE(contains(outcome.text, "are within tolerance")) << cut << "\n" << outcome.text;
    EXPECT_TRUE(contains(outcome.text, "67 words, sequences of 16")) << outcome.text;
  }
}

TEST_F(VerifyTest, TellsTheRulesOfTheCutOfTheRunItself) {
  const Outcome heads = errors(
      large("1 --global-batch-size 8", "--scale tiny --ranks 3 --tensor-model-parallel-size 3"));
  EXPECT_EQ(heads.status, 2) << heads.text;
  EXPECT_TRUE(contains(heads.text, "16")) << heads.text;
  const Outcome layers = errors(
      large("1 --global-batch-size 8", "--scale tiny --ranks 5 --pipeline-model-parallel-size 5"));
  EXPECT_EQ(layers.status, 2) << layers.text;
  EXPECT_TRUE(contains(layers.text, "48")) << layers.text;
}

TEST_F(VerifyTest, RefusesWhatHasNoEffectAndWhatDoesNotFit) {
  const Outcome both = errors(large("1", "--scale tiny --all --json"));
  EXPECT_EQ(both.status, 2) << both.text;
  EXPECT_TRUE(contains(both.text, "JSON has every comparison")) << both.text;
  const Outcome memory = errors(large("100000", "--global-batch-size 100000"));
  EXPECT_EQ(memory.status, 1) << memory.text;
  EXPECT_TRUE(contains(memory.text, "this rank needs")) << memory.text;
}

}  // namespace
}  // namespace trireme::app
