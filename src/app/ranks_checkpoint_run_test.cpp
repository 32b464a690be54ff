// Checkpoints of a run on several ranks, by the built program: continued on other ranks, read by
// the other subcommands.

#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "app/run_fixture.h"

namespace trireme::app {
namespace {

class RanksCheckpointRun : public RunTest {
 protected:
  // The ranks, and the iterations to which they go.
  static std::string on(const std::string& ranks, int iterations, const std::string& more) {
    return format(
        "train --num-layers 4 --hidden-size 32 --num-attention-heads 4 --seq-length 32 "
        "--micro-batch-size 1 --global-batch-size 8 --lr 1e-2 --lr-warmup-iters 2 "
        "--lr-decay-iters 30 --eval-interval 3 --eval-iters 2 --split 90,10 --data-path "
        "corpus_text_document {} {} --train-iters {} {}",
        kTokenizer, ranks, iterations, more);
  }
  static std::string train_ok(const std::string& arguments) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.status, 0) << outcome.text;
    return outcome.text;
  }
  // Losses of training and validation as they are in a metrics file, to the last digit.
  static std::vector<double> numbers(const char* file) {
    std::vector<double> found;
    std::istringstream lines(read_file(folder_ / file));
    for (std::string line; std::getline(lines, line);) {
      const auto json = nlohmann::json::parse(line);
      for (const char* name : {"loss", "validation_loss"}) {
        if (json.contains(name)) found.push_back(json[name]);
      }
    }
    return found;
  }

  inline static const std::string kEight =
      "--ranks 8 --pipeline-model-parallel-size 2 --tensor-model-parallel-size 2";
};

TEST_F(RanksCheckpointRun, OfEightGoesOnOnAnyNumberOfRanks) {
  train_ok(on(kEight, 6, "--metrics-file whole.jsonl"));
  train_ok(on(kEight, 3, "--save eight"));
  const std::vector<double> whole = numbers("whole.jsonl");
  for (const char* ranks : {
           "--ranks 8 --pipeline-model-parallel-size 2 --tensor-model-parallel-size 2",
           "--ranks 4 --tensor-model-parallel-size 2",
           "--ranks 8 --pipeline-model-parallel-size 2 --tensor-model-parallel-size 2 "
           "--num-virtual-stages-per-pipeline-rank 2",
           "--ranks 4 --pipeline-model-parallel-size 4",
           "",
       }) {
    const std::string text = train_ok(on(ranks, 6, "--load eight --metrics-file part.jsonl"));
    EXPECT_TRUE(contains(text, "continuing from eight/iter_0000003: iteration 3, 24 samples"));
    const std::vector<double> part = numbers("part.jsonl");
    const std::vector<double> rest(whole.end() - static_cast<ptrdiff_t>(part.size()), whole.end());
    ASSERT_EQ(part.size(), 4U) << text;  // three steps and a validation
    if (contains(ranks, "--tensor-model-parallel-size 2")) {
      EXPECT_EQ(part, rest) << ranks;
    } else {
      EXPECT_TRUE(contains(text, "sums come in another order")) << text;
      EXPECT_NEAR(part[0], rest[0], 1e-5);
      for (size_t i = 1; i < part.size(); ++i) EXPECT_NEAR(part[i], rest[i], 1e-2) << ranks;
    }
  }
}

TEST_F(RanksCheckpointRun, OfOneGoesOnOnEightAndBack) {
  train_ok(on("", 2, "--save there"));
  train_ok(on(kEight, 4, "--load there --save there"));
  train_ok(on("", 6, "--load there --save back --metrics-file back.jsonl"));
  train_ok(on("", 6, "--metrics-file alone.jsonl"));
  const std::vector<double> back = numbers("back.jsonl");
  const std::vector<double> alone = numbers("alone.jsonl");
  ASSERT_EQ(alone.size(), 8U);
  ASSERT_EQ(back.size(), 3U);
  for (size_t i = 0; i < back.size(); ++i) EXPECT_NEAR(back[i], alone[i + 5], 1e-2);
}

TEST_F(RanksCheckpointRun, OfEightIsReadByTheOtherSubcommands) {
  train_ok(on(kEight, 3, "--save read --metrics-file read.jsonl"));
  const Outcome evaluated =
      shell(format("cd '{}' && '{}' evaluate --load read --part validation --limit 16 --json "
                   "2>/dev/null",
                   folder_.string(), TRIREME_PROGRAM));
  ASSERT_EQ(evaluated.status, 0) << evaluated.text;
  // The first validation takes the first 16 samples.
  EXPECT_NEAR(nlohmann::json::parse(evaluated.text)["results"][0]["loss"].get<double>(),
              numbers("read.jsonl").back(), 1e-5);
  const Outcome generated = run("generate --load read --prompt 'the rower' --num-tokens 5");
  EXPECT_EQ(generated.status, 0) << generated.text;
}

TEST_F(RanksCheckpointRun, KeepsWhatItShallAndEndsByASignalWithASave) {
  const Outcome outcome = shell(
      format("cd '{}' && ('{}' {} > log 2>&1 & p=$!; for i in $(seq 3000); do [ $(cat "
             "signal.jsonl 2>/dev/null | wc -l) -ge 5 ] && break; sleep 0.01; done; kill -USR1 $p; "
             "wait $p)",
             folder_.string(), TRIREME_PROGRAM,
             on(kEight, 1000,
                "--save signal --save-interval 1 --keep-last 2 --metrics-file signal.jsonl")));
  const std::string log = read_file(folder_ / "log");
  ASSERT_EQ(outcome.status, 0) << log;
  EXPECT_TRUE(contains(log, "of 1000: SIGUSR1")) << log;
  EXPECT_TRUE(contains(log, " removed older checkpoints: 1\n")) << log;
  size_t kept = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / "signal"))
    kept += entry.is_directory() ? 1 : 0;
  EXPECT_EQ(kept, 2U);
  EXPECT_EQ(run(on(kEight, 1, "--load signal")).status, 0);
}

TEST_F(RanksCheckpointRun, TellsADamagedPartWithTheRankThatReadsIt) {
  train_ok(on(kEight, 2, "--save worn"));
  const Path file = folder_ / "worn/iter_0000002/optimizer-p1-t1.safetensors";
  std::string bytes = read_file(file);
  bytes[bytes.size() - 3] = static_cast<char>(bytes[bytes.size() - 3] ^ 8);
  write_file(file, bytes);
  // --ckpt-step leaves it to the ranks, each of which reads its own part.
  const Outcome outcome = run(on(kEight, 4, "--load worn --ckpt-step 2"));
  EXPECT_EQ(outcome.status, 1);
  EXPECT_TRUE(contains(outcome.text, "rank 5 = p1 t1 d0: worn/iter_0000002/optimizer-p1-t1"))
      << outcome.text;
  EXPECT_TRUE(contains(outcome.text, "(rank 7 failed, too)")) << outcome.text;
  EXPECT_EQ(run(on(kEight, 4, "--load worn")).status, 1);
}

}  // namespace
}  // namespace trireme::app
