// A trained model measured by the built program.

#include <cmath>
#include <nlohmann/json.hpp>

#include "app/run_fixture.h"

namespace trireme::app {
namespace {

using Json = nlohmann::json;

class EvaluateTest : public RunTest {
 protected:
  static void SetUpTestSuite() {
    RunTest::SetUpTestSuite();
    const Outcome trained = run(train("--train-iters 60 --save model"));
    ASSERT_EQ(trained.status, 0) << trained.text;
    write_file(folder_ / "held_out.txt",
               "the rower pulls every stroke. the long oar turns its shadow. one bank answers the "
               "stern. her captain watches the open sea. a tall mast follows a slow drum. ");
    write_file(folder_ / "words.jsonl",
               "{\"text\": \"the rower pulls every stroke. the helmsman follows the open sea.\"}\n"
               "{\"text\": \"a tall mast watches the open harbour\"}\n"
               "{\"text\": \"one bank answers a slow drum.\"}\n");
    write_file(folder_ / "endings.jsonl",
               "{\"ctx\": \"the rower pulls the stern. the long oar\", \"label\": 1, \"endings\": "
               "[\"sea drum stern oar.\", \"turns the harbour.\", \"qqq zzz.\", \"17 + 4.\"]}\n");
  }
  // The results of a call.
  static Json results(const std::string& more) {
    const Outcome outcome =
        shell(format("cd '{}' && '{}' evaluate --load model --json {} 2>/dev/null",
                     folder_.string(), TRIREME_PROGRAM, more));
    EXPECT_EQ(outcome.status, 0) << more;
    Json json = Json::parse(outcome.text);
    EXPECT_EQ(json["checkpoint"], "model/iter_0000060");
    return json["results"];
  }
};

TEST_F(EvaluateTest, MeasuresTokenFilesATextAndTasksInOneCall) {
  const Json all = results(
      "--part validation --text held_out.txt --stride 8 --lambada words.jsonl --hellaswag "
      "endings.jsonl");
  ASSERT_EQ(all.size(), 4U);
  const Json& data = all[0];
  EXPECT_EQ(data["task"], "data");
  EXPECT_EQ(data["name"], "corpus_text_document, validation part");
  EXPECT_EQ(data["tokens"], data["samples"].get<int64_t>() * 32);
  EXPECT_LT(data["loss"].get<double>(), 4);  // it has learnt: a uniform guess has ln 300
  const Json& text = all[1];
  EXPECT_LT(text["bytes"], read_file(folder_ / "held_out.txt").size());
  EXPECT_NEAR(text["perplexity"].get<double>(), std::exp(text["loss"].get<double>()), 1e-9);
  EXPECT_NEAR(text["bits_per_byte"].get<double>() * text["bytes"].get<double>() * std::log(2.0),
              text["loss"].get<double>() * text["tokens"].get<double>(), 1e-6);
  EXPECT_EQ(all[2]["examples"], 3);
  EXPECT_GT(all[2]["accuracy"], 0);
  EXPECT_EQ(all[3]["examples"], 1);
  EXPECT_EQ(all[3]["accuracy"], 1);
  EXPECT_EQ(all[3]["accuracy_per_character"], 1);

  const Outcome table = run("evaluate --load model --text held_out.txt --lambada words.jsonl");
  EXPECT_EQ(table.status, 0) << table.text;
  for (const char* part : {"text held_out.txt", "bits per byte", "lambada words.jsonl"}) {
    EXPECT_TRUE(contains(table.text, part)) << table.text;
  }
}

TEST_F(EvaluateTest, GivesTheSameWhateverRunsAtOnce) {
  const std::string what =
      "--data-path corpus_text_document --limit 37 --text held_out.txt --lambada words.jsonl "
      "--hellaswag endings.jsonl ";
  const Json eight = results(what);
  EXPECT_EQ(eight[0]["samples"], 37);
  EXPECT_EQ(results(what + "--micro-batch-size 1 --threads-per-rank 1"), eight);
  EXPECT_EQ(results(what + "--micro-batch-size 5 --threads-per-rank 2"), eight);
}

TEST_F(EvaluateTest, GivesTheSameOnAnyRanks) {
  const std::string what =
      "--data-path corpus_text_document --limit 37 --text held_out.txt --stride 8 --lambada "
      "words.jsonl --hellaswag endings.jsonl ";
  const Json one = results(what);
  for (const char* const ranks :
       {"--ranks 2 --pipeline-model-parallel-size 2", "--ranks 3",
        "--ranks 4 --pipeline-model-parallel-size 2 --micro-batch-size 3"})
    EXPECT_EQ(results(what + ranks), one) << ranks;
  // Tensor ranks add in another order.
  for (const char* const ranks :
       {"--ranks 2 --tensor-model-parallel-size 2",
        "--ranks 8 --tensor-model-parallel-size 2 --pipeline-model-parallel-size 2"}) {
    const Json cut = results(what + ranks);
    ASSERT_EQ(cut.size(), one.size());
    for (size_t i = 0; i < one.size(); ++i) {
      ASSERT_EQ(cut[i].size(), one[i].size());
      for (const auto& [key, value] : one[i].items()) {
        if (value.is_number_float()) {
          EXPECT_NEAR(cut[i][key].get<double>(), value.get<double>(), 1e-5 * value.get<double>())
              << ranks << ", " << key;
        } else {
          EXPECT_EQ(cut[i][key], value) << ranks << ", " << key;
        }
      }
    }
  }
}

TEST_F(EvaluateTest, ReadsDatasetsWholeInPartsOrByWeights) {
  const auto samples = [](const std::string& more) {
    return results(more)[0]["samples"].get<int64_t>();
  };
  const int64_t whole = samples("--data-path corpus_text_document");
  EXPECT_EQ(samples("--data-path corpus_text_document corpus_text_document"), 2 * whole);
  const int64_t train = samples("--data-path corpus_text_document --split 50,50 --part train");
  const int64_t valid = samples("--data-path corpus_text_document --split 50,50");
  EXPECT_GT(valid, whole / 3);
  EXPECT_LE(train + valid, whole);
  EXPECT_GE(train + valid, whole - 1);
  EXPECT_EQ(samples("--data-path 0.5 corpus_text_document 0.5 corpus_text_document --limit 40"),
            40);
  EXPECT_EQ(samples("--part validation --limit 1000000"), samples("--part validation"));
  EXPECT_GT(samples("--part validation --seq-length 16"), samples("--part validation"));
}

TEST_F(EvaluateTest, TellsEachMistakeInOneMessageWithARemedy) {
  write_file(folder_ / "bad.jsonl", "{\"text\": \"a b\"}\n{\"text\": \"a b\"\n");
  write_file(folder_ / "empty.jsonl", "");
  write_file(folder_ / "unlabelled.jsonl",
             "{\"ctx\": \"a\", \"endings\": [\"b\", \"c\"], \"label\": \"\"}\n");
  struct Mistake {
    const char* arguments;
    int status;
    const char* words;
  };
  for (const Mistake& mistake : {
           Mistake{"", 2, "nothing to evaluate on"},
           Mistake{"--text held_out.txt --stride 33", 2, "use --stride 32 or less"},
           Mistake{"--text held_out.txt --seq-length 33", 2, "use --seq-length 32 or less"},
           Mistake{"--lambada words.jsonl --stride 3", 2, "stride without text"},
           Mistake{"--split 1,1 --text held_out.txt", 2, "split without data-path"},
           Mistake{"--data-path 0.5 corpus_text_document 0.5 corpus_text_document", 2, "--limit"},
           Mistake{"--task LAMBADA --valid-data words.jsonl", 2, "--lambada"},
           Mistake{"--lambada bad.jsonl", 1, "bad.jsonl:2: not valid JSON"},
           Mistake{"--lambada empty.jsonl", 1, "empty.jsonl: has no line"},
           Mistake{"--hellaswag unlabelled.jsonl", 1, "unlabelled.jsonl:1: has no label"},
           Mistake{"--hellaswag words.jsonl", 1, "words.jsonl:1: has no key \"ctx\""},
           Mistake{"--text empty.jsonl", 1, "the text has 0 tokens"},
           Mistake{"--text nowhere.txt", 1, "nowhere.txt"},
           Mistake{"--text nowhere.txt --ranks 2", 1, "nowhere.txt"},
           Mistake{"--lambada bad.jsonl --ranks 2", 1, "bad.jsonl:2: not valid JSON"},
           Mistake{"--lambada empty.jsonl --ranks 2", 1, "empty.jsonl: has no line"},
           Mistake{"--text held_out.txt --ranks 3 --pipeline-model-parallel-size 2", 2,
                   "use 2 or 4 ranks"},
           Mistake{"--text held_out.txt --ranks 3 --tensor-model-parallel-size 3", 2,
                   "use --tensor-model-parallel-size 2"},
           Mistake{"--data-path nowhere", 1, "nowhere"},
       }) {
    const Outcome outcome = errors(format("evaluate --load model {}", mistake.arguments));
    EXPECT_EQ(outcome.status, mistake.status) << mistake.arguments << "\n" << outcome.text;
    EXPECT_TRUE(contains(outcome.text, mistake.words)) << mistake.words << "\n" << outcome.text;
  }
  const Outcome mock =
      run(bare("--mock-data --eval-iters 0 --num-attention-heads 2 --save mocked"));
  ASSERT_EQ(mock.status, 0) << mock.text;
  const Outcome mocked = errors("evaluate --load mocked --part train");
  EXPECT_EQ(mocked.status, 2) << mocked.text;
  EXPECT_TRUE(contains(mocked.text, "no token files for its train part")) << mocked.text;
  const Outcome none = errors("evaluate --load nothing --text held_out.txt");
  EXPECT_EQ(none.status, 1) << none.text;
}

TEST_F(EvaluateTest, SaysWhenContextsAreTooLong) {
  const Outcome outcome =
      errors("evaluate --load model --lambada words.jsonl --seq-length 8 --json");
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_TRUE(contains(outcome.text, "longer than 8 tokens")) << outcome.text;
  EXPECT_GT(results("--lambada words.jsonl --seq-length 8")[0]["truncated"], 0);
}

}  // namespace
}  // namespace trireme::app
