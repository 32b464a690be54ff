// The way from text to samples with the built program, and the mistakes that people make on it.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "core/format.h"

namespace trireme::app {
namespace {

struct Outcome {
  int status = -1;
  std::string text;
};

Outcome shell(const std::string& line) {
  std::FILE* pipe = ::popen(line.c_str(), "r");
  if (pipe == nullptr) return {};
  Outcome outcome;
  std::array<char, 4096> buffer = {};
  while (const size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe))
    outcome.text.append(buffer.data(), n);
  const int status = ::pclose(pipe);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  return outcome;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Sentences of our own with enough order in them to be learnt.
std::string corpus() {
  const std::array<const char*, 6> who = {"the rower",    "the helmsman", "a tall mast",
                                          "the long oar", "her captain",  "one bank"};
  const std::array<const char*, 5> does = {"pulls", "turns", "watches", "follows", "answers"};
  const std::array<const char*, 6> what = {"the stern",    "a slow drum", "the open sea",
                                           "every stroke", "the harbour", "its shadow"};
  std::string text;
  uint32_t state = 12345;
  const auto next = [&](size_t below) {
    state = state * 1664525U + 1013904223U;
    return (state >> 16) % below;
  };
  for (int document = 0; document < 120; ++document) {
    text += "{\"text\": \"";
    for (int sentence = 0; sentence < 12; ++sentence) {
      text += format("{} {} {}. ", who[next(6)], does[next(5)], what[next(6)]);
    }
    text += "\"}\n";
  }
  return text;
}

// A folder with corpus, tokenizer and dataset, made once by the program itself.
class RunTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::string pattern = testing::TempDir() + "trireme-run-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
    write_file(folder_ / "corpus.jsonl", corpus());
    const Outcome tokenizer =
        run("tokenizer train --input corpus.jsonl --json-keys text --vocab-size 300 --output "
            "tokenizer");
    ASSERT_EQ(tokenizer.status, 0) << tokenizer.text;
    const Outcome dataset =
        run("preprocess --input corpus.jsonl --output-prefix corpus --append-eod " + kTokenizer);
    ASSERT_EQ(dataset.status, 0) << dataset.text;
  }
  static void TearDownTestSuite() { std::filesystem::remove_all(folder_); }

  // Standard output and error together, in the folder.
  static Outcome run(const std::string& arguments) {
    return shell(format("cd '{}' && '{}' {} 2>&1", folder_.string(), TRIREME_PROGRAM, arguments));
  }
  // Standard error alone.
  static Outcome errors(const std::string& arguments) {
    return shell(
        format("cd '{}' && '{}' {} 2>&1 >/dev/null", folder_.string(), TRIREME_PROGRAM, arguments));
  }
  static std::string train(const std::string& more) {
    return "train --num-layers 1 --hidden-size 32 --num-attention-heads 2 --seq-length 32 "
           "--micro-batch-size 4 "
           "--global-batch-size 8 --lr 1e-2 --lr-warmup-iters 2 --lr-decay-iters 30 --log-interval "
           "5 --eval-interval 15 "
           "--eval-iters 2 --split 90,10 --data-path corpus_text_document " +
           kTokenizer + " " + more;
  }

  static std::string bare(const std::string& more) {
    return "train --num-layers 1 --hidden-size 32 --seq-length 32 --micro-batch-size 4 --lr 1e-2 "
           "--train-iters 2 " +
           kTokenizer + " " + more;
  }

  inline static const std::string kTokenizer =
      "--vocab-file tokenizer/vocab.json --merge-file tokenizer/merges.txt";
  inline static Path folder_;
};

// The losses of a metrics file, line by line, without times.
std::string losses(const Path& file) {
  std::string found;
  const std::string text = read_file(file);
  size_t at = 0;
  while ((at = text.find("\"loss\":", at)) != std::string::npos) {
    const size_t end = text.find(',', at);
    found += text.substr(at, end - at) + "\n";
    at = end;
  }
  return found;
}

// The options that a manifest keeps, wherever it keeps them.
std::string find_options(const nlohmann::json& json) {
  if (json.is_object()) {
    for (const auto& [key, value] : json.items()) {
      if (key == "options" && value.is_string()) return value.get<std::string>();
      if (std::string found = find_options(value); !found.empty()) return found;
    }
  }
  return "";
}

TEST_F(RunTest, LearnsSavesContinuesBitForBitAndWrites) {
  const Outcome whole = run(train(
      "--train-iters 30 --save whole --metrics-file whole.jsonl --loss-curve-file whole.svg"));
  ASSERT_EQ(whole.status, 0) << whole.text;
  for (const char* part : {"memory of this rank", "lm loss: ", "validation loss at iteration 30",
                           "held-out loss", "perplexity", "saved iteration 30"}) {
    EXPECT_TRUE(contains(whole.text, part)) << part << "\n" << whole.text;
  }
  EXPECT_TRUE(contains(read_file(folder_ / "whole.svg"), "</svg>"));

  const Outcome first = run(train("--train-iters 12 --save parts --metrics-file parts.jsonl"));
  ASSERT_EQ(first.status, 0) << first.text;
  const Outcome second =
      run(train("--train-iters 30 --load parts --save parts --metrics-file parts.jsonl"));
  ASSERT_EQ(second.status, 0) << second.text;
  EXPECT_TRUE(contains(second.text,
                       "continuing from parts/iter_0000012: iteration 12, 96 samples consumed"))
      << second.text;
  EXPECT_EQ(losses(folder_ / "parts.jsonl"), losses(folder_ / "whole.jsonl"));
  const std::string lines = losses(folder_ / "whole.jsonl");
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 30);

  const std::string prompt = "generate --load whole --prompt 'the rower' --num-tokens 20 --seed 3";
  const Outcome sample = run(prompt);
  EXPECT_EQ(sample.status, 0) << sample.text;
  EXPECT_EQ(sample.text.rfind("the rower", 0), 0U) << sample.text;
  EXPECT_EQ(run(prompt).text, sample.text);
  EXPECT_EQ(run("generate --load parts --prompt 'the rower' --num-tokens 20 --seed 3").text,
            sample.text);
}

TEST_F(RunTest, EndsAtASignalWithASaveAndContinuesAsIfItHadNot) {
  const std::string steps = "--train-iters 300 --lr-decay-style constant ";
  const Outcome whole = run(train(steps + "--metrics-file signal-whole.jsonl"));
  ASSERT_EQ(whole.status, 0) << whole.text;
  for (const std::string signal : {"USR1", "TERM"}) {
    const std::string files = format("--save by-{} --metrics-file by-{}.jsonl", signal, signal);
    // Behind the tenth line of metrics the run gets the signal.
    const Outcome stopped = shell(
        format("cd '{}' && ('{}' {} > by-{}.log 2>&1 & p=$!; for i in $(seq 3000); do "
               "[ $(cat by-{}.jsonl 2>/dev/null | wc -l) -ge 10 ] && break; sleep 0.01; done; kill "
               "-{} $p; "
               "wait $p)",
               folder_.string(), TRIREME_PROGRAM, train(steps + files), signal, signal, signal));
    const std::string log = read_file(folder_ / format("by-{}.log", signal));
    ASSERT_EQ(stopped.status, 0) << log;
    EXPECT_TRUE(contains(log, format("of 300: SIG{}", signal))) << log;
    EXPECT_TRUE(contains(log, "saved iteration")) << log;
    const Outcome rest = run(train(steps + files + format(" --load by-{}", signal)));
    ASSERT_EQ(rest.status, 0) << rest.text;
    EXPECT_EQ(losses(folder_ / format("by-{}.jsonl", signal)),
              losses(folder_ / "signal-whole.jsonl"));
  }
}

TEST_F(RunTest, EndsBehindAnExitIntervalWithASave) {
  const Outcome outcome = run(train("--train-iters 30 --exit-interval 4 --save by-interval"));
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_TRUE(contains(outcome.text, "saved iteration 4 to")) << outcome.text;
  EXPECT_TRUE(contains(outcome.text, "the run ends at iteration 4 of 30: --exit-interval 4"));
}

TEST_F(RunTest, DryRunPrintsThePlanAndTouchesNothing) {
  const Outcome outcome = run(train("--train-iters 30 --save untouched --dry-run"));
  EXPECT_EQ(outcome.status, 0);
  for (const char* part : {"memory of this rank", "0F0 0B0 0F1 0B1 step",
                           "decoder.layers.N.mlp.linear_fc1.weight", "block attention", "adamw("}) {
    EXPECT_TRUE(contains(outcome.text, part)) << part << "\n" << outcome.text;
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "untouched"));
}

TEST_F(RunTest, DryRunTellsAProgramTheSameAsJson) {
  const Outcome outcome = run(train("--train-iters 30 --dry-run --json"));
  const auto json = nlohmann::json::parse(outcome.text);
  EXPECT_EQ(json["format"], "trireme-plan");
  EXPECT_EQ(json["options"]["hidden_size"], 32);
  EXPECT_EQ(json["microbatches"], 2);
  int64_t sum = 0;
  for (const auto& [name, bytes] : json["memory_bytes"].items()) sum += bytes.get<int64_t>();
  EXPECT_EQ(json["memory_bytes_total"], sum);
  EXPECT_EQ(errors(train("--train-iters 30 --json")).status, 2);
}

TEST_F(RunTest, SaysWhenAResumeOfAnotherLengthChangesTheOrderOfTheData) {
  ASSERT_EQ(run(train("--train-iters 3 --save short")).status, 0);
  EXPECT_FALSE(
      contains(run(train("--train-iters 4 --load short --save short")).text, "another order"));
  const Outcome longer = run(train("--train-iters 200 --load short"));
  EXPECT_EQ(longer.status, 0);
  EXPECT_TRUE(contains(longer.text, "in another order")) << longer.text;
}

TEST_F(RunTest, PlansManyRanksWithoutRunningThem) {
  const Outcome outcome =
      run(train("--train-iters 2 --ranks 2 --tensor-model-parallel-size 2 --dry-run"));
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_TRUE(contains(outcome.text, "all_reduce_start")) << outcome.text;
}

TEST_F(RunTest, SavedRunCanBeRerunAsARunFile) {
  ASSERT_EQ(run(train("--train-iters 3 --save rerun --metrics-file first.jsonl")).status, 0);
  const auto manifest =
      nlohmann::json::parse(read_file(folder_ / "rerun/iter_0000003/manifest.json"));
  write_file(folder_ / "saved.toml", find_options(manifest));
  const Outcome again =
      run("train --config saved.toml --save rerun-again --metrics-file second.jsonl");
  ASSERT_EQ(again.status, 0) << again.text;
  EXPECT_EQ(losses(folder_ / "second.jsonl"), losses(folder_ / "first.jsonl"));
}

// The train() line with its data replaced.
std::string with_data(std::string line, const std::string& data) {
  const std::string before = "--split 90,10 --data-path corpus_text_document";
  return line.replace(line.find(before), before.size(), data);
}

TEST_F(RunTest, ReportsABlendByDatasetAndReadsItTheSameFromAFileAndACache) {
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

TEST_F(RunTest, ProcessesThatStartTogetherShareOneIndex) {
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

TEST_F(RunTest, ReadsEachPartFromItsOwnPathAndEndsWithATest) {
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

TEST_F(RunTest, TrainsOnMockDataWithoutAFile) {
  const Outcome outcome = run(with_data(train("--train-iters 3"), "--mock-data"));
  ASSERT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_TRUE(contains(outcome.text, "data: train: mock data, 24 samples")) << outcome.text;
}

TEST_F(RunTest, ShowsInTheExcerptWhereDocumentsEndAndMasksTheLossThere) {
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

TEST_F(RunTest, PlansTheDataOfADryRunWithoutACache) {
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

struct Mistake {
  const char* name;
  std::string arguments;
  int status;
  std::vector<const char*> parts;
};

TEST_F(RunTest, TellsEachMistakeInOneMessageWithARemedy) {
  ASSERT_EQ(run(train("--train-iters 2 --save small")).status, 0);
  write_file(folder_ / "bad.jsonl", "{\"text\": \"fine\"}\n{\"text\": broken}\n");
  const std::string index = read_file(folder_ / "corpus_text_document.idx");
  write_file(folder_ / "cut_text_document.idx", index.substr(0, index.size() / 2));
  write_file(folder_ / "cut_text_document.bin", read_file(folder_ / "corpus_text_document.bin"));
  std::filesystem::copy(folder_ / "small", folder_ / "damaged",
                        std::filesystem::copy_options::recursive);
  const Path weights = folder_ / "damaged/iter_0000002/model.safetensors";
  std::string bytes = read_file(weights);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 8);
  write_file(weights, bytes);

  const std::vector<Mistake> mistakes = {
      {"unknown option",
       train("--train-iters 2 --hiden-size 3"),
       2,
       {"--hiden-size", "--hidden-size"}},
      {"unknown subcommand", "trian", 2, {"trian", "train"}},
      {"missing option", "train --num-layers 1", 2, {"--hidden-size"}},
      {"no vocabulary",
       "train --num-layers 1 --hidden-size 8 --num-attention-heads 1 --seq-length 8 "
       "--micro-batch-size 1 "
       "--train-iters 1 --lr 1 --data-path corpus_text_document",
       2,
       {"--vocab-size"}},
      {"heads",
       bare("--num-attention-heads 5 --data-path corpus_text_document"),
       2,
       {"num-attention-heads", "hidden-size"}},
      {"missing dataset",
       bare("--num-attention-heads 2 --data-path nothing"),
       1,
       {"nothing", "trireme preprocess"}},
      {"dataset by its ending",
       bare("--num-attention-heads 2 --data-path corpus_text_document.bin"),
       1,
       {"leave the ending out: corpus_text_document"}},
      {"dataset by its output prefix",
       bare("--num-attention-heads 2 --data-path corpus"),
       1,
       {"you may mean corpus_text_document"}},
      {"no data", bare("--num-attention-heads 2"), 2, {"--data-path", "--mock-data"}},
      {"a weight of zero",
       bare("--num-attention-heads 2 --data-path 0 corpus_text_document 1 corpus_text_document"),
       2,
       {"--data-path", "is zero"}},
      {"a negative weight",
       bare("--num-attention-heads 2 --data-path 1 corpus_text_document -1 corpus_text_document"),
       2,
       {"--data-path", "is negative"}},
      {"a missing weight",
       bare("--num-attention-heads 2 --data-path 0.5 corpus_text_document corpus_text_document"),
       2,
       {"--data-path", "\"0.5\" stands where a prefix should"}},
      {"a missing list of data",
       bare("--num-attention-heads 2 --data-args-path gone.txt"),
       1,
       {"gone.txt", "No such file"}},
      {"two places for data",
       bare("--num-attention-heads 2 --mock-data --data-path corpus_text_document"),
       2,
       {"data-path and mock-data"}},
      {"no validation data",
       bare("--num-attention-heads 2 --train-data-path corpus_text_document"),
       2,
       {"--valid-data-path", "--eval-iters 0"}},
      {"validation data that is not read",
       bare("--num-attention-heads 2 --train-data-path corpus_text_document --valid-data-path "
            "corpus_text_document --eval-iters 0"),
       2,
       {"--valid-data-path", "is never read"}},
      {"an empty part",
       bare("--num-attention-heads 2 --split 1,0,0 --data-path corpus_text_document"),
       1,
       {"corpus_text_document, validation part", "--split"}},
      {"datasets that end",
       bare("--num-attention-heads 2 --eval-iters 0 --micro-batch-size 8 --global-batch-size "
            "8000 --data-path corpus_text_document corpus_text_document")
           .replace(bare("").find("--micro-batch-size 4 "), 21, ""),
       1,
       {"read once", "weight"}},
      {"masks without a tokenizer",
       "train --num-layers 1 --hidden-size 32 --seq-length 32 --micro-batch-size 4 --lr 1e-2 "
       "--train-iters 2 --vocab-size 300 --num-attention-heads 2 --data-path corpus_text_document "
       "--eod-mask-loss",
       2,
       {"--eod-mask-loss", "end-of-document"}},
      {"a cache that cannot be",
       bare("--num-attention-heads 2 --data-cache-path corpus.jsonl --data-path "
            "corpus_text_document"),
       1,
       {"corpus.jsonl"}},
      {"no iterations", train("--train-iters 0"), 2, {"--train-iters"}},
      {"another seed", train("--train-iters 4 --load small --seed 7"), 1, {"--seed 1234 (here 7)"}},
      {"a checkpoint that is not there",
       train("--train-iters 4 --load small --ckpt-step 9"),
       1,
       {"--ckpt-step"}},
      {"no folder for the curve",
       train("--train-iters 2 --loss-curve-file nowhere/a.svg"),
       1,
       {"nowhere"}},
      {"a rate that explodes",
       train("--train-iters 20 --save exploded")
           .replace(train("").find("--lr 1e-2"), 9, "--lr 1e30"),
       1,
       {"gradient norm", "smaller --lr"}},
      {"too long an answer",
       "generate --load small --prompt x --num-tokens 1000",
       1,
       {"32 positions", "--num-tokens"}},
      {"malformed line",
       "preprocess --input bad.jsonl --output-prefix bad " + kTokenizer,
       1,
       {"bad.jsonl", "2"}},
      {"missing file",
       "preprocess --input gone.jsonl --output-prefix gone " + kTokenizer,
       1,
       {"gone.jsonl", "No such file"}},
      {"cut index",
       std::string("train --num-layers 1 --hidden-size 32 --num-attention-heads 2 --seq-length 32 "
                   "--micro-batch-size 4 "
                   "--lr 1e-2 --train-iters 1 --data-path cut_text_document ") +
           kTokenizer,
       1,
       {"cut_text_document.idx"}},
      {"damaged checkpoint", "generate --load damaged --prompt x", 1, {"model.safetensors"}},
      {"no checkpoint", "generate --load nowhere --prompt x", 1, {"nowhere"}},
      {"another model",
       "train --num-layers 2 --hidden-size 32 --num-attention-heads 2 --seq-length 32 "
       "--micro-batch-size 4 --lr 1e-2 "
       "--train-iters 4 --load small --data-path corpus_text_document " +
           kTokenizer,
       1,
       {"--num-layers 1 (here 2)"}},
      {"too little memory",
       "train --num-layers 96 --hidden-size 12288 --num-attention-heads 96 --seq-length 32 "
       "--micro-batch-size 1 "
       "--train-iters 1 --lr 1e-4 --data-path corpus_text_document " +
           kTokenizer,
       1,
       {"needs", "optimizer, first moments", "--micro-batch-size"}},
      {"another run's folder", train("--train-iters 2 --save small"), 1, {"--load small"}},
      {"too many ranks", train("--train-iters 2 --ranks 2"), 2, {"--ranks"}},
      {"too few tokens",
       "train --num-layers 1 --hidden-size 32 --num-attention-heads 2 --seq-length 900000 "
       "--micro-batch-size 1 "
       "--train-iters 1 --lr 1e-4 --eval-iters 0 --data-path corpus_text_document " +
           kTokenizer,
       1,
       {"token"}},
  };
  for (const Mistake& mistake : mistakes) {
    const Outcome outcome = errors(mistake.arguments);
    EXPECT_EQ(outcome.status, mistake.status) << mistake.name << "\n" << outcome.text;
    for (const char* part : mistake.parts)
      EXPECT_TRUE(contains(outcome.text, part)) << mistake.name << ": " << part << "\n"
                                                << outcome.text;
    EXPECT_FALSE(contains(outcome.text, "terminate")) << outcome.text;
  }
}

}  // namespace
}  // namespace trireme::app
