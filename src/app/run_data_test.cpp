// Where the data of a run come from, with the built program.

#include <nlohmann/json.hpp>

#include "app/run_fixture.h"

namespace trireme::app {
namespace {

class RunDataTest : public RunTest {};

// The train() line with its data replaced.
std::string with_data(std::string line, const std::string& data) {
  const std::string before = "--split 90,10 --data-path corpus_text_document";
  return line.replace(line.find(before), before.size(), data);
}

TEST_F(RunDataTest, ReportsABlendByDatasetAndReadsItTheSameFromAFileAndACache) {
  const std::string items = "3 corpus_text_document 1 corpus_text_document";
  const std::string more = "--train-iters 6 --metrics-file ";
  const Outcome line =
      run(with_data(train(more + "a.jsonl"), "--split 90,10 --num-workers 0 --data-path " + items));
  ASSERT_EQ(line.status, 0) << line.text;
  for (const char* part : {"data: train, 2 datasets", "0.7500", "data: validation, 2 datasets",
                           "is named twice", "left out", "data: from sample 0:"}) {
    EXPECT_TRUE(contains(line.text, part)) << part << "\n" << line.text;
  }
  write_file(folder_ / "items.txt", "3 corpus_text_document\n1 corpus_text_document\n");
  for (int round = 0; round < 2; ++round) {
    const Outcome file =
        run(with_data(train(more + "b.jsonl"),
                      "--split 90,10 --data-cache-path cache --data-args-path items.txt"));
    ASSERT_EQ(file.status, 0) << file.text;
    EXPECT_EQ(losses(folder_ / "b.jsonl"), losses(folder_ / "a.jsonl"));
  }
  EXPECT_FALSE(std::filesystem::is_empty(folder_ / "cache"));
}

TEST_F(RunDataTest, ProcessesThatStartTogetherShareOneIndex) {
  std::string line = format("cd '{}'", folder_.string());
  for (int process = 0; process < 4; ++process) {
    line +=
        format("\n'{}' {} --data-cache-path shared >out.{} 2>&1 &", TRIREME_PROGRAM,
               train(format("--train-iters 4 --metrics-file shared.{}.jsonl", process)), process);
  }
  ASSERT_EQ(shell(line + "\nwait").status, 0);
  ASSERT_EQ(run(train("--train-iters 4 --metrics-file own.jsonl")).status, 0);
  for (int process = 0; process < 4; ++process) {
    EXPECT_EQ(losses(folder_ / format("shared.{}.jsonl", process)), losses(folder_ / "own.jsonl"))
        << read_file(folder_ / format("out.{}", process));
  }
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / "shared")) {
    EXPECT_EQ(entry.path().extension(), ".trireme-index") << entry.path();
    ++files;
  }
  EXPECT_EQ(files, 2);  // training and validation
}

TEST_F(RunDataTest, ReadsEachPartFromItsOwnPathAndEndsWithATest) {
  const Outcome outcome = run(with_data(train("--train-iters 4"),
                                        "--train-data-path corpus_text_document --valid-data-path "
                                        "corpus_text_document --test-data-path 1 "
                                        "corpus_text_document"));
  ASSERT_EQ(outcome.status, 0) << outcome.text;
  for (const char* part :
       {"data: train: corpus_text_document: 120 documents", "data: validation: corpus",
        "data: test: corpus", "validation loss at iteration 4 |",
        "validation loss at iteration 4 on test set |"}) {
    EXPECT_TRUE(contains(outcome.text, part)) << part << "\n" << outcome.text;
  }
}

TEST_F(RunDataTest, TrainsOnMockDataWithoutAFile) {
  const Outcome outcome = run(with_data(train("--train-iters 3"), "--mock-data"));
  ASSERT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_TRUE(contains(outcome.text, "data: train: mock data, 24 samples")) << outcome.text;
}

TEST_F(RunDataTest, ShowsInTheExcerptWhereDocumentsEndAndMasksTheLossThere) {
  const Outcome plain = run(train("--train-iters 2 --metrics-file plain.jsonl"));
  EXPECT_FALSE(contains(plain.text, "[[")) << plain.text;
  const Outcome masked =
      run(with_data(train("--train-iters 2 --metrics-file masked.jsonl --eod-mask-loss "
                          "--reset-position-ids --reset-attention-mask --seed 3")
                        .replace(train("").find("--seq-length 32"), 15, "--seq-length 600"),
                    "--split 90,10 --data-path corpus_text_document"));
  ASSERT_EQ(masked.status, 0) << masked.text;
  EXPECT_TRUE(contains(masked.text, "[[<|endoftext|>]]|")) << masked.text;
}

TEST_F(RunDataTest, PlansTheDataOfADryRunWithoutACache) {
  const Outcome outcome =
      run(with_data(train("--train-iters 30 --dry-run --json"),
                    "--split 90,10 --data-cache-path unmade --data-path 1 corpus_text_document"));
  const auto json = nlohmann::json::parse(outcome.text);
  const auto& dataset = json["data"]["train"]["datasets"][0];
  EXPECT_EQ(json["data"]["train"]["samples"], 240);
  EXPECT_EQ(dataset["dataset"], "corpus_text_document");
  EXPECT_EQ(dataset["documents"], 108);
  EXPECT_EQ(dataset["weight"], 1.0);
  EXPECT_NEAR(dataset["epochs"].get<double>(), 240.0 * 32 / dataset["tokens"].get<double>(), 1e-9);
  EXPECT_GT(dataset["eod_share"], 0.0);
  EXPECT_TRUE(json["data"].contains("validation"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "unmade"));
  const std::string none =
      "train --num-layers 1 --hidden-size 32 --num-attention-heads 2 "
      "--seq-length 32 --micro-batch-size 4 --lr 1e-2 --train-iters 2 "
      "--vocab-size 300 --dry-run --json";
  EXPECT_FALSE(nlohmann::json::parse(run(none).text).contains("data"));
}

}  // namespace
}  // namespace trireme::app
