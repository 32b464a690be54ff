// What a run of several ranks says of itself: its trace, and where time and bytes went.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "app/run_fixture.h"

namespace trireme::app {
namespace {

using Json = nlohmann::json;
using AccountRun = RunTest;

std::string on_mock_data(const std::string& options) {
  return "train --num-layers 4 --hidden-size 32 --num-attention-heads 4 --seq-length 32 "
         "--vocab-size "
         "96 --micro-batch-size 1 --global-batch-size 8 --lr 1e-3 --mock-data --eval-iters 1 "
         "--threads-per-rank 1 " +
         options;
}

TEST_F(AccountRun, TellsOfSeveralRanksWhereTimeAndBytesWent) {
  const Outcome outcome = run(
      on_mock_data("--train-iters 4 --eval-interval 2 --ranks 8 --pipeline-model-parallel-size 2 "
                   "--tensor-model-parallel-size 2 --scatter-gather-tensors-in-pipeline "
                   "--metrics-file m.jsonl --trace t.json --inspect-iters 2 --save saved"));
  ASSERT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_TRUE(contains(outcome.text, "bubble")) << outcome.text;
  EXPECT_TRUE(contains(outcome.text, "the same")) << outcome.text;
  EXPECT_FALSE(contains(outcome.text, "other bytes were sent")) << outcome.text;
  EXPECT_TRUE(contains(outcome.text, "trace: t.json")) << outcome.text;

  std::istringstream lines(read_file(folder_ / "m.jsonl"));
  std::string line;
  std::string last;
  while (std::getline(lines, line)) last = line;
  const Json account = Json::parse(last);
  EXPECT_EQ(account.at("ranks"), 8);
  double time = 0;
  for (const auto& [name, share] : account.at("time").items()) {
    time += share.at("mean").get<double>();
    EXPECT_GE(share.at("least"), 0) << name;
    // Whatever there is in this cut takes some time.
    EXPECT_GT(share.at("most"), 0) << name;
  }
  EXPECT_NEAR(time, 1, 1e-9);
  std::set<std::string> kinds;
  for (const Json& one : account.at("bytes_sent")) {
    kinds.insert(one.at("group").get<std::string>() + " " + one.at("traffic").get<std::string>());
    if (one.at("traffic") != "agreement") {
      EXPECT_EQ(one.at("sent"), one.at("planned")) << one;
    }
  }
  EXPECT_EQ(kinds,
            (std::set<std::string>{"tensor activation", "tensor gradient", "tensor loss",
                                   "data gradient", "pipeline activation", "pipeline gradient",
                                   "tied tied", "model norm", "world loss", "world agreement"}));

  std::set<std::string> ranks;
  const Json trace = Json::parse(read_file(folder_ / "t.json"));
  for (const Json& event : trace.at("traceEvents")) {
    if (event.at("name") == "process_name") ranks.insert(event.at("args").at("name"));
  }
  EXPECT_EQ(ranks.size(), 8U);
  EXPECT_EQ(ranks.count("rank 5 = p1 t1 d0"), 1U) << *ranks.rbegin();
}

TEST_F(AccountRun, SaysWhereEveryLayerWentBeforeTheFirstStep) {
  const std::string steps = "--train-iters 1 ";
  const Outcome uneven = run(on_mock_data(steps + "--ranks 2 --pipeline-model-parallel-size 2 "
                                                  "--pipeline-model-parallel-layout 'Et|tttL'"));
  ASSERT_EQ(uneven.status, 0) << uneven.text;
  EXPECT_TRUE(contains(uneven.text,
                       "ranks: 2 = p 2 x t 1 x d 1, 1 thread each\n"
                       "pipeline rank  chunk 0\n"
                       "-------------  ------------------\n"
                       "0              embedding, layer 0\n"
                       "1              layers 1-3, head\n"
                       "4 of 4 layers placed\n"))
      << uneven.text;
  const Outcome whole = run(on_mock_data(steps));
  ASSERT_EQ(whole.status, 0) << whole.text;
  EXPECT_TRUE(contains(whole.text,
                       "ranks: 1 = p 1 x t 1 x d 1, 1 thread each\n"
                       "4 of 4 layers placed, with embedding and head in one stage\n"))
      << whole.text;
}

TEST_F(AccountRun, TellsOfOneRankInALine) {
  const Outcome outcome = run(on_mock_data("--train-iters 2"));
  ASSERT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_TRUE(contains(outcome.text, "time of the steps: ")) << outcome.text;
  EXPECT_FALSE(contains(outcome.text, "bytes sent")) << outcome.text;
}

}  // namespace
}  // namespace trireme::app
