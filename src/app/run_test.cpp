// The way from text to samples with the built program, and the mistakes that people make on it.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "app/run_fixture.h"

namespace trireme::app {
namespace {

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

TEST_F(RunTest, RunsOnTheDeviceThatIsNamedWithTheSameBits) {
  const std::string steps = "--train-iters 6 ";
  const Outcome here = run(train(steps + "--save on-cpu --metrics-file on-cpu.jsonl"));
  ASSERT_EQ(here.status, 0) << here.text;
  const Outcome there =
      run(train(steps + "--device null --save on-null --metrics-file on-null.jsonl"));
  ASSERT_EQ(there.status, 0) << there.text;
  EXPECT_TRUE(contains(there.text, "threads measured now; MFU counts against it")) << there.text;
  EXPECT_EQ(losses(folder_ / "on-null.jsonl"), losses(folder_ / "on-cpu.jsonl"));
  const std::string ask = "--prompt 'the rower' --num-tokens 12 --seed 3";
  const Outcome text = run("generate --load on-cpu " + ask);
  ASSERT_EQ(text.status, 0) << text.text;
  EXPECT_EQ(run("generate --device null --load on-null " + ask).text, text.text);

  const Outcome missing = errors(train(steps + "--device abacus"));
  EXPECT_EQ(missing.status, 2);
  for (const char* part : {"--device abacus: there is no ", "/trireme_abacus.so",
                           "TRIREME_PLUGIN_PATH", "--device cpu"}) {
    EXPECT_TRUE(contains(missing.text, part)) << part << "\n" << missing.text;
  }
  const Outcome large = errors(
      "train --num-layers 100 --hidden-size 32768 --num-attention-heads 256 --seq-length 32 "
      "--micro-batch-size 1 --train-iters 1 --lr 1e-3 --mock-data --device null " +
      kTokenizer);
  EXPECT_EQ(large.status, 1) << large.text;
  EXPECT_TRUE(contains(large.text, "this rank needs ")) << large.text;
  EXPECT_TRUE(contains(large.text, ", null has ")) << large.text;
}

TEST_F(RunTest, StartsAnewWhereTheFolderOfSaveAndLoadHoldsNothingYet) {
  const std::string script = train("--train-iters 6 --exit-interval 3 --save both --load both");
  const Outcome first = run(script);
  ASSERT_EQ(first.status, 0) << first.text;
  EXPECT_TRUE(contains(first.text, "nothing was saved there yet, so the run starts anew"));
  const Outcome second = run(script);
  ASSERT_EQ(second.status, 0) << second.text;
  EXPECT_TRUE(contains(second.text, "continuing from both/iter_0000003")) << second.text;
  EXPECT_EQ(run(train("--train-iters 6 --save third --load nowhere")).status, 1);
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
  for (const char* part : {"memory of this rank", "activations, 1 microbatch in flight, ",
                           "workspace, where products pack weights", "packed weights: none",
                           "communication: none", "0F0 0B0 0F1 0B1 reduce_wait step",
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
  const auto& chunk = json["activations_by_chunk"][0];
  EXPECT_EQ(chunk["microbatches_in_flight"], 1);
  EXPECT_GT(chunk["bytes_per_microbatch"], 0);
  EXPECT_LE(chunk["bytes_per_microbatch"], json["memory_bytes"]["activations"]);
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
       {"needs", "optimizer, first moments", "use a smaller model"}},
      {"another run's folder", train("--train-iters 2 --save small"), 1, {"--load small"}},
      {"ranks that the cut does not divide",
       train("--train-iters 2 --ranks 3 --tensor-model-parallel-size 2"),
       2,
       {"ranks = p t d", "use 2 or 4 ranks"}},
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
