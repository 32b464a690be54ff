// What a run does with its checkpoints: which stay, which one it continues from, what it says.

#include <algorithm>
#include <vector>

#include "app/run_fixture.h"
#include "data/indexed_writer.h"

namespace trireme::app {
namespace {

class CheckpointRun : public RunTest {
 protected:
  static std::vector<std::string> checkpoints(const std::string& name) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / name)) {
      if (entry.is_directory()) names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  static void damage(const Path& file) {
    std::string bytes = read_file(file);
    bytes[bytes.size() - 3] = static_cast<char>(bytes[bytes.size() - 3] ^ 8);
    write_file(file, bytes);
  }
  static Outcome train_ok(const std::string& more) {
    Outcome outcome = run(train(more));
    EXPECT_EQ(outcome.status, 0) << outcome.text;
    return outcome;
  }
};

TEST_F(CheckpointRun, KeepsTheNewestAndTheIntervalsAndSaysWhatItRemoved) {
  const Outcome outcome = train_ok(
      "--train-iters 7 --save kept --save-interval 1 --keep-last 2 --save-retain-interval 3");
  EXPECT_EQ(checkpoints("kept"),
            (std::vector<std::string>{"iter_0000003", "iter_0000006", "iter_0000007"}));
  EXPECT_TRUE(contains(outcome.text, "saved iteration 3 to kept\n removed older checkpoints: 1\n"))
      << outcome.text;
  EXPECT_EQ(read_file(folder_ / "kept/latest_checkpointed_iteration.txt"), "7\n");
}

TEST_F(CheckpointRun, KeepsWhatItWasLoadedFromUntilItIsLoadedFromAnother) {
  train_ok("--train-iters 6 --save turned --save-interval 2");
  const std::string go_on = "--save turned --load turned --save-interval 1 --keep-last 1 ";
  train_ok(go_on + "--train-iters 5 --ckpt-step 2");
  // 6 belongs to the course that the run turned back from.
  EXPECT_EQ(checkpoints("turned"),
            (std::vector<std::string>{"iter_0000002", "iter_0000005", "iter_0000006"}));
  train_ok(go_on + "--train-iters 8");
  EXPECT_EQ(checkpoints("turned"), (std::vector<std::string>{"iter_0000005", "iter_0000008"}));
}

TEST_F(CheckpointRun, ContinuesFromTheNewestWholeOneAndSaysWhatWasWrong) {
  train_ok("--train-iters 6 --save worn --save-interval 2 --metrics-file worn.jsonl");
  const std::string whole = losses(folder_ / "worn.jsonl");
  damage(folder_ / "worn/iter_0000006/optimizer.safetensors");
  std::filesystem::remove(folder_ / "worn/iter_0000004/manifest.json");

  const std::string go_on = "--train-iters 6 --save worn --load worn --metrics-file worn.jsonl ";
  const Outcome strict = run(train(go_on));
  EXPECT_EQ(strict.status, 1) << strict.text;
  for (const char* part : {"iter_0000006/optimizer.safetensors: tensor optimizer.exp_avg",
                           "give --load-newest-whole to continue from iteration 2"}) {
    EXPECT_TRUE(contains(strict.text, part)) << part << "\n" << strict.text;
  }
  EXPECT_EQ(run(train(go_on + "--ckpt-step 4")).status, 1);

  const Outcome outcome = train_ok(go_on + "--load-newest-whole");
  for (const char* part :
       {"iter_0000006/optimizer.safetensors: tensor optimizer.exp_avg_sq.", "damaged",
        "iter_0000004: no manifest.json", "from iteration 2, the newest checkpoint that is whole",
        "continuing from worn/iter_0000002: iteration 2", "saved iteration 6 to worn"}) {
    EXPECT_TRUE(contains(outcome.text, part)) << part << "\n" << outcome.text;
  }
  EXPECT_EQ(losses(folder_ / "worn.jsonl"), whole);
  // What was damaged is replaced.
  EXPECT_FALSE(contains(run(train("--train-iters 6 --load worn")).text, "warning"));
}

TEST_F(CheckpointRun, StartsAnewOnlyWhereNothingIsThereAndThatIsAllowed) {
  const std::string both = "--train-iters 2 --save fresh --load fresh ";
  const Outcome refused = run(train(both + "--exit-on-missing-checkpoint"));
  EXPECT_EQ(refused.status, 1);
  EXPECT_TRUE(contains(refused.text, "no latest_checkpointed_iteration.txt")) << refused.text;
  train_ok(both);
  // All that is there is damaged: no reason to train over it.
  std::filesystem::remove(folder_ / "fresh/iter_0000002/model.safetensors");
  const Outcome damaged = run(train(both));
  EXPECT_EQ(damaged.status, 1);
  EXPECT_TRUE(contains(damaged.text, "there is no whole checkpoint in this folder"))
      << damaged.text;
  std::filesystem::remove(folder_ / "fresh/latest_checkpointed_iteration.txt");
  EXPECT_EQ(run(train(both)).status, 1);
}

// Each is told before the data are read.
TEST_F(CheckpointRun, TellsPlacesThatCannotBeWrittenBeforeItBegins) {
  write_file(folder_ / "file", "");
  for (const std::string option :
       {"--trace nowhere/t.json", "--trace tokenizer", "--metrics-file nowhere/m.jsonl",
        "--loss-curve-file nowhere/a.svg", "--dump file", "--dump file/in",
        "--tensorboard-dir file", "--save file"}) {
    const Outcome outcome = run(train("--train-iters 2 " + option));
    EXPECT_EQ(outcome.status, 1) << option << outcome.text;
    const std::string place = option.substr(option.find(' ') + 1);
    EXPECT_TRUE(contains(outcome.text, place + ": ")) << option << outcome.text;
    EXPECT_FALSE(contains(outcome.text, "peak:")) << option << outcome.text;
  }
}

// As on a full disk: files may not grow beyond 40 KiB.
TEST_F(CheckpointRun, GoesOnWhereASaveFailsAndFailsWhereTheLastOneDoes) {
  const Outcome outcome =
      shell(format("cd '{}' && ulimit -f 40 && '{}' {} 2>&1", folder_.string(), TRIREME_PROGRAM,
                   train("--train-iters 4 --save-interval 2 --save full")));
  EXPECT_EQ(outcome.status, 1) << outcome.text;
  for (const char* part : {"iteration 2 was not saved, training goes on: ", "File too large"}) {
    EXPECT_TRUE(contains(outcome.text, part)) << part << "\n" << outcome.text;
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "full/iter_0000002"));
}

TEST_F(CheckpointRun, SavesWhatItReachedWhereTheDataAreBad) {
  data::IndexedWriter writer(folder_ / "bad", data::TokenType::u16);
  std::vector<int32_t> tokens(2000, 7);
  tokens[1000] = 50;  // no word
  writer.append(tokens);
  writer.end_sequence();
  writer.end_document();
  writer.commit();
  const Outcome outcome =
      run("train --num-layers 1 --hidden-size 32 --num-attention-heads 2 --seq-length 32 --lr 1e-3 "
          "--micro-batch-size 1 --train-iters 62 --eval-iters 0 --split 100,0,0 --data-path bad "
          "--vocab-size 50 --num-workers 0 --seed 2 --save reached");
  EXPECT_EQ(outcome.status, 1) << outcome.text;
  EXPECT_TRUE(contains(outcome.text, "saved iteration ")) << outcome.text;
  EXPECT_TRUE(contains(outcome.text, "50")) << outcome.text;
  EXPECT_TRUE(std::filesystem::exists(folder_ / "reached/latest_checkpointed_iteration.txt"));
}

TEST_F(CheckpointRun, WritesTheTraceOfARunThatFails) {
  const Outcome outcome = run(train("--train-iters 5 --trace failed.json --inspect-iters 5")
                                  .replace(train("").find("--lr 1e-2"), 9, "--lr 1e30"));
  EXPECT_EQ(outcome.status, 1) << outcome.text;
  const std::string trace = read_file(folder_ / "failed.json");
  EXPECT_TRUE(contains(trace, "\"name\":\"0F0\"")) << trace.substr(0, 300);
}

}  // namespace
}  // namespace trireme::app
