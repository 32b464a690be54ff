// trireme verify from the command line: what a run's own options make of it, in full and tiny.

#include <nlohmann/json.hpp>

#include "app/run_fixture.h"

namespace trireme::app {
namespace {

class VerifyTest : public RunTest {
 protected:
  // A run that is too large for a test in full.
  static std::string large(const std::string& more) {
    return "verify --num-layers 48 --hidden-size 1024 --num-attention-heads 16 --seq-length 512 "
           "--micro-batch-size 4 --global-batch-size 256 --train-iters 100 --lr 1e-3 "
           "--lr-warmup-iters 10 --vocab-size 50000 --mock-data " +
           more;
  }
};

TEST_F(VerifyTest, TakesTheOptionsOfATrainingRunAndItsData) {
  const std::string options =
      train(
          "--train-iters 30 --eod-mask-loss --ranks 4 --tensor-model-parallel-size 2 --save no "
          "--num-layers 2 --pipeline-model-parallel-size 2")
          .substr(std::string("train").size());
  const Outcome outcome = run("verify " + options + " --steps 2 --all");
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_TRUE(contains(outcome.text, "are within tolerance")) << outcome.text;
  EXPECT_TRUE(contains(outcome.text, "decoder.layers.1.mlp.linear_fc2.weight"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "no")) << "nothing is saved";
}

TEST_F(VerifyTest, ContinuesACheckpointInAnotherLayout) {
  ASSERT_EQ(run(train("--train-iters 4 --save saved")).status, 0);
  const std::string options =
      train("--train-iters 30 --load saved --ranks 2 --tensor-model-parallel-size 2")
          .substr(std::string("train").size());
  const Outcome outcome = run("verify " + options + " --steps 1 --json");
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
  for (const std::string cut :
       {"--ranks 2 --tensor-model-parallel-size 2",
        "--ranks 8 --pipeline-model-parallel-size 2 --tensor-model-parallel-size 2 "
        "--num-layers-per-virtual-pipeline-stage 4 --no-overlap-grad-reduce",
        "--ranks 6 --pipeline-model-parallel-size 3 --pipeline-layout auto "
        "--untie-embeddings-and-output-weights --micro-batch-size 1",
        "--ranks 4 --pipeline-model-parallel-size 2 --use-tp-pp-dp-mapping --schedule gpipe "
        "--rampup-batch-size 64 64 512"}) {
    const Outcome outcome = run(large(cut + " --scale tiny --steps 2"));
    EXPECT_EQ(outcome.status, 0) << cut << "\n" << outcome.text;
    EXPECT_TRUE(contains(outcome.text, "are within tolerance")) << cut << "\n" << outcome.text;
    EXPECT_TRUE(contains(outcome.text, "67 words, sequences of 16")) << outcome.text;
  }
}

TEST_F(VerifyTest, TellsTheRulesOfTheCut) {
  const Outcome heads =
      errors(large("--scale tiny --ranks 3 --tensor-model-parallel-size 3 --global-batch-size 8"));
  EXPECT_EQ(heads.status, 2) << heads.text;
  EXPECT_TRUE(contains(heads.text, "16")) << "heads of the run itself: " << heads.text;
  const Outcome layers = errors(
      large("--scale tiny --ranks 5 --pipeline-model-parallel-size 5 --global-batch-size 20"));
  EXPECT_EQ(layers.status, 2) << layers.text;
  EXPECT_TRUE(contains(layers.text, "48")) << layers.text;
  const Outcome both = errors(large("--scale tiny --all --json"));
  EXPECT_EQ(both.status, 2) << both.text;
  const Outcome memory = errors(large("--num-layers 4000 --hidden-size 4096"));
  EXPECT_EQ(memory.status, 1) << memory.text;
  EXPECT_TRUE(contains(memory.text, "memory")) << memory.text;
}

}  // namespace
}  // namespace trireme::app
