// trireme generate with the built program.

#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "app/run_fixture.h"

namespace trireme::app {
namespace {

class GenerateTest : public RunTest {
 protected:
  static void SetUpTestSuite() {
    RunTest::SetUpTestSuite();
    const Outcome trained = run(train("--train-iters 20 --save model"));
    ASSERT_EQ(trained.status, 0) << trained.text;
    write_file(folder_ / "prompts.txt", "the rower\n\nher captain turns\none bank\n");
    write_file(folder_ / "prompts.jsonl",
               "{\"prompt\": \"the rower\"}\n{\"text\": \"her captain turns\"}\n"
               "{\"prompt\": \"one bank\"}\n");
  }

  static Outcome generate(const std::string& more) { return run("generate --load model " + more); }

  static std::vector<nlohmann::json> objects(const std::string& more) {
    const Outcome outcome = generate(more + " --json");
    EXPECT_EQ(outcome.status, 0) << outcome.text;
    std::vector<nlohmann::json> result;
    std::istringstream lines(outcome.text);
    for (std::string line; std::getline(lines, line);)
      result.push_back(nlohmann::json::parse(line));
    return result;
  }
};

TEST_F(GenerateTest, AnswersManyPromptsInTheirOrderAndTheSameForAnyBatchSize) {
  const std::string many = "--prompts prompts.txt --num-samples 3 --num-tokens 12 --top-k 20 ";
  const Outcome one = generate(many + "--batch-size 1");
  ASSERT_EQ(one.status, 0) << one.text;
  size_t at = 0;
  for (const char* const part :
       {"--- prompt 1, sample 1\nthe rower", "--- prompt 1, sample 3\nthe rower",
        "--- prompt 2, sample 1\nher captain turns", "--- prompt 3, sample 3\none bank"}) {
    at = one.text.find(part, at);
    ASSERT_NE(at, std::string::npos) << part << "\n" << one.text;
  }
  EXPECT_EQ(generate(many + "--batch-size 2 --threads-per-rank 1").text, one.text);
  EXPECT_EQ(generate(many).text, one.text);
  EXPECT_NE(generate(many + "--seed 4").text, one.text);
  // Alone, a prompt has the answer that it has among others.
  const Outcome alone = generate("--prompt 'one bank' --num-tokens 12 --top-k 20");
  EXPECT_TRUE(contains(one.text, "--- prompt 3, sample 1\n" + alone.text)) << alone.text;
}

constexpr const char* kStages = " --ranks 2 --pipeline-model-parallel-size 2";
constexpr const char* kTensorRanks = " --ranks 2 --tensor-model-parallel-size 2";
constexpr const char* kBoth =
    " --ranks 4 --pipeline-model-parallel-size 2 --tensor-model-parallel-size 2";

TEST_F(GenerateTest, GivesTheAnswersOfOneRankOnAnyRanks) {
  // Prompts and answers of many lengths, ended by texts, tokens and the end of a document.
  const std::string many =
      "--prompts prompts.txt --num-samples 8 --num-tokens 20 --temperature 1.5 --stop sea "
      "--stop-token 40 --batch-size 17";
  const Outcome one = generate(many);
  ASSERT_EQ(one.status, 0) << one.text;
  const auto objects_of_one = objects(many);
  ASSERT_EQ(objects_of_one.size(), 24U);
  for (const char* const ranks : {kStages, kTensorRanks, kBoth}) {
    EXPECT_EQ(generate(many + ranks).text, one.text) << ranks;
    const auto answers = objects(many + ranks);
    ASSERT_EQ(answers.size(), objects_of_one.size());
    for (size_t i = 0; i < answers.size(); ++i) {
      for (const char* const key : {"text", "tokens", "stopped_by", "prompt", "sample"})
        EXPECT_EQ(answers[i][key], objects_of_one[i][key]) << ranks;
    }
    EXPECT_EQ(generate("--prompt 'the rower' --greedy" + std::string(ranks)).text,
              generate("--prompt 'the rower' --greedy").text);
  }
}

TEST_F(GenerateTest, TellsOnceWhatItSaysOfAllRanks) {
  const Outcome file = generate(std::string("--prompt x --output ranks.txt") + kBoth);
  EXPECT_EQ(file.status, 0) << file.text;
  EXPECT_EQ(file.text.find("answers in ranks.txt"), file.text.rfind("answers in ranks.txt"))
      << file.text;
  EXPECT_TRUE(contains(file.text, "1 answers in ranks.txt")) << file.text;
  const Outcome piped =
      shell(format("cd '{}' && printf 'the rower\\none bank\\n' | '{}' generate --load model "
                   "--prompts - --num-tokens 9 {}",
                   folder_.string(), TRIREME_PROGRAM, kBoth));
  write_file(folder_ / "same.txt", "the rower\none bank\n");
  EXPECT_EQ(piped.text, generate("--prompts same.txt --num-tokens 9").text);
  const Outcome empty = generate(std::string("--prompt '' --num-tokens 5") + kBoth);
  EXPECT_EQ(empty.text.find("the token"), empty.text.rfind("the token")) << empty.text;
  const Outcome full = shell(format("cd '{}' && '{}' generate --load model {} 2>&1 >/dev/full",
                                    folder_.string(), TRIREME_PROGRAM, kBoth));
  EXPECT_EQ(full.status, 1);
  EXPECT_TRUE(contains(full.text, "standard output: No space left on device")) << full.text;
}

TEST_F(GenerateTest, WritesAJsonObjectForEachAnswer) {
  const auto answers = objects("--prompts prompts.jsonl --num-tokens 7 --ignore-eod");
  ASSERT_EQ(answers.size(), 3U);
  EXPECT_EQ(answers[1]["prompt"], "her captain turns");
  for (const auto& answer : answers) {
    EXPECT_EQ(answer["tokens"].size(), 7U);
    EXPECT_EQ(answer["stopped_by"], "length");
    EXPECT_EQ(answer["sample"], 0);
    EXPECT_GT(answer["prompt_tokens"], 0);
    EXPECT_GT(answer["tokens_per_second"], 0);
    const Outcome text = generate("--ignore-eod --num-tokens 7 --prompt '" +
                                  answer["prompt"].get<std::string>() + "'");
    const auto bytes = text.text.substr(answer["prompt"].get<std::string>().size());
    if (!contains(answer["text"], "\xEF\xBF\xBD")) {
      EXPECT_EQ(answer["text"].get<std::string>() + "\n", bytes);
    }
  }
}

TEST_F(GenerateTest, StopsAtTextsTokensAndTheEndOfADocument) {
  const std::string greedy = "--prompt 'the rower' --greedy --num-tokens 20 ";
  const nlohmann::json free = objects(greedy + "--ignore-eod").front();
  const auto text = free["text"].get<std::string>();
  ASSERT_EQ(free["tokens"].size(), 20U);
  const std::string stop = text.substr(5, 3);
  const size_t cut = text.find(stop);
  const nlohmann::json by_text =
      objects(greedy + "--ignore-eod --stop 'never said' '" + stop + "'").front();
  EXPECT_EQ(by_text["stopped_by"], "stop");
  EXPECT_EQ(by_text["text"], text.substr(0, cut));
  EXPECT_EQ(generate(greedy + "--ignore-eod --stop '" + stop + "'").text,
            "the rower" + text.substr(0, cut) + "\n");

  const int token = free["tokens"][4];
  const nlohmann::json by_token =
      objects(greedy + format("--ignore-eod --stop-token {}", token)).front();
  EXPECT_EQ(by_token["stopped_by"], "stop");
  EXPECT_LE(by_token["tokens"].size(), 4U);
  int ended = 0;
  for (const auto& answer : objects("--num-samples 100 --num-tokens 31 --temperature 3")) {
    if (answer["stopped_by"] == "eod") ++ended;
    EXPECT_EQ(answer["stopped_by"] == "length", answer["tokens"].size() == 31);
  }
  EXPECT_GT(ended, 0);
}

TEST_F(GenerateTest, ReadsStandardInputAndWritesAFileThatIsWhole) {
  const Outcome piped =
      shell(format("cd '{}' && printf 'the rower\\none bank\\n' | '{}' generate "
                   "--load model --prompts - --num-tokens 9 --genfile out.txt",
                   folder_.string(), TRIREME_PROGRAM));
  EXPECT_EQ(piped.status, 0) << piped.text;
  EXPECT_TRUE(contains(piped.text, "2 answers in out.txt: ")) << piped.text;
  write_file(folder_ / "two.txt", "the rower\none bank\n");
  EXPECT_EQ(generate("--prompts two.txt --num-tokens 9").text, read_file(folder_ / "out.txt"));
}

TEST_F(GenerateTest, SaysWhatAnEmptyPromptBecomes) {
  const Outcome outcome = generate("--prompt '' --num-tokens 5");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_TRUE(contains(outcome.text, "the token <|endoftext|>")) << outcome.text;
  EXPECT_FALSE(contains(generate("--num-tokens 5").text, "endoftext"));
}

TEST_F(GenerateTest, TellsWhenNobodyReadsItsAnswers) {
  shell(
      format("cd '{}' && {{ '{}' generate --load model --num-samples 2000 2> closed.txt; echo $? "
             "> status.txt; }} | true",
             folder_.string(), TRIREME_PROGRAM));
  EXPECT_EQ(read_file(folder_ / "status.txt"), "1\n");
  const std::string closed = read_file(folder_ / "closed.txt");
  EXPECT_TRUE(contains(closed, "standard output: Broken pipe")) << closed;
  const Outcome full = shell(format("cd '{}' && '{}' generate --load model 2>&1 >/dev/full",
                                    folder_.string(), TRIREME_PROGRAM));
  EXPECT_EQ(full.status, 1);
  EXPECT_TRUE(contains(full.text, "standard output: No space left on device")) << full.text;
}

TEST_F(GenerateTest, RefusesWhatCannotBeAndSaysWhatCan) {
  write_file(folder_ / "broken.jsonl", "{\"prompt\": \"x\"}\n{\"prompt\": }\n");
  write_file(folder_ / "blank.txt", "\n\n");
  write_file(folder_ / "long.txt", "the\n" + std::string(300, 'x') + "\n");
  const std::vector<std::tuple<std::string, int, std::string>> mistakes = {
      {"--prompts broken.jsonl", 1, "broken.jsonl line 2: not JSON"},
      {"--prompts blank.txt", 1, "blank.txt: no prompt in it"},
      {"--prompts long.txt", 1, "long.txt line 2: a prompt of "},
      {"--prompts missing.txt", 1, "missing.txt: cannot open"},
      {"--prompts prompts.txt --prompt x", 2, "prompts come from one place"},
      {"--prompt x --prompts-format text", 2, "it says how --prompts is read"},
      {"--prompt x --stop-token 300", 2, "ids are whole numbers from 0 to 299"},
      {"--prompt x --stop-token end", 2, "'end' is no token id"},
      {"--prompt x --stop ''", 2, "--stop has an empty item"},
      {"--prompt x --top-p 1.5", 2, "--top-p"},
      {"--prompt x --temperature -1", 2, "--temperature"},
      {"--prompt x --greedy --top_k 3", 2, "greedy always takes the likeliest token"},
      {"--prompt x --out-seq-length 40", 1, "32 positions"},
      {std::string("--prompt x --out-seq-length 40") + kBoth, 1, "32 positions"},
      {std::string("--prompts broken.jsonl") + kBoth, 1, "broken.jsonl line 2: not JSON"},
      {"--prompt x --ranks 4 --pipeline-model-parallel-size 2", 2,
       "4 ranks, and p 2 x t 1 = 2; one model answers: ranks = p t"},
      {"--prompt x --tensor-model-parallel-size 2", 2, "use 2 ranks, or other sizes"},
      {"--prompt x --ranks 4 --tensor-model-parallel-size 4", 2,
       "use --tensor-model-parallel-size 2"},
      {"--prompt x --ranks 4 --pipeline-model-parallel-size 4", 2, "use fewer stages"},
  };
  for (const auto& [arguments, status, part] : mistakes) {
    const Outcome outcome = errors("generate --load model " + arguments);
    EXPECT_EQ(outcome.status, status) << arguments;
    EXPECT_TRUE(contains(outcome.text, part)) << arguments << "\n" << outcome.text;
  }
}

}  // namespace
}  // namespace trireme::app
