// N + M steps are N steps, a stop, and M steps: the same losses, and the same checkpoint to the
// bit.

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "app/run_fixture.h"

namespace trireme::app {
namespace {

class ResumeRun : public RunTest {
 protected:
  // What a checkpoint has, but for the options, which name places, and the checksum over them.
  struct Saved {
    std::string model;
    std::string optimizer;
    std::string run;
    bool operator==(const Saved&) const = default;
  };
  static Saved latest(const std::string& name) {
    const std::string iteration = read_file(folder_ / name / "latest_checkpointed_iteration.txt");
    const Path folder = folder_ / name / format("iter_{:07}", std::stoll(iteration));
    auto manifest = nlohmann::json::parse(read_file(folder / "manifest.json"));
    manifest.erase("options");
    manifest.erase("checksum");
    return {read_file(folder / "model.safetensors"), read_file(folder / "optimizer.safetensors"),
            manifest.dump()};
  }

  // A run that saves and writes metrics under a name.
  static std::string command(const std::string& options, const std::string& name) {
    return format(
        "train --num-layers 1 --hidden-size 32 --num-attention-heads 2 --seq-length 32 "
        "--micro-batch-size 4 --global-batch-size 8 --lr 1e-2 --hidden-dropout 0.2 "
        "--attention-dropout 0.2 --eval-iters 2 --split 90,10 --num-workers 2 --data-path "
        "corpus_text_document {0} {1} --save {2} --metrics-file {2}.jsonl ",
        kTokenizer, options, name);
  }
  static void expect_same(const std::string& parts, const std::string& whole) {
    EXPECT_EQ(losses(folder_ / (parts + ".jsonl")), losses(folder_ / (whole + ".jsonl")));
    EXPECT_EQ(latest(parts), latest(whole));
  }
};

TEST_F(ResumeRun, IsTheRunThatWasNotStoppedToTheBit) {
  const std::vector<std::pair<std::string, std::string>> courses = {
      {"validated", "--train-iters 20 --lr-warmup-iters 9 --eval-interval 3"},
      {"growing",
       "--train-samples 120 --rampup-batch-size 4 4 24 --lr-warmup-samples 30 --lr-decay-samples "
       "100 --eod-mask-loss --reset-position-ids --reset-attention-mask"},
  };
  for (const auto& [name, options] : courses) {
    const std::string whole = name + "-whole";
    const std::string parts = name + "-parts";
    const Outcome straight = run(command(options, whole));
    ASSERT_EQ(straight.status, 0) << straight.text;
    // The same command again and again, until nothing is left to do.
    const std::string go_on =
        command(options, parts) + format("--load {} --exit-interval 7", parts);
    int starts = 0;
    for (Outcome outcome; !contains(outcome.text, "nothing to do"); ++starts) {
      outcome = run(go_on);
      ASSERT_EQ(outcome.status, 0) << outcome.text;
      ASSERT_LT(starts, 6) << outcome.text;
    }
    EXPECT_EQ(starts, 4) << "two stops, the end, and nothing left";
    expect_same(parts, whole);
  }
}

TEST_F(ResumeRun, MayHaveBeenStoppedByASignalWhereverItCame) {
  const std::string options = "--train-iters 150 --lr-decay-style constant --eval-interval 10";
  const Outcome whole = run(command(options, "straight"));
  ASSERT_EQ(whole.status, 0) << whole.text;
  const std::string go_on = command(options, "signalled") + "--load signalled";
  int stops = 0;
  for (const auto& [signal, lines] : {std::pair("USR1", 10), std::pair("TERM", 40)}) {
    // Behind so many lines of metrics the run gets the signal.
    const Outcome part =
        shell(format("cd '{}' && ('{}' {} > log 2>&1 & p=$!; for i in $(seq 3000); do [ $(cat "
                     "signalled.jsonl 2>/dev/null | wc -l) -ge {} ] && break; sleep 0.01; done; "
                     "kill -{} $p; wait $p)",
                     folder_.string(), TRIREME_PROGRAM, go_on, lines, signal));
    const std::string log = read_file(folder_ / "log");
    ASSERT_EQ(part.status, 0) << log;
    EXPECT_TRUE(contains(log, "saved iteration")) << log;
    stops += contains(log, format("of 150: SIG{}", signal)) ? 1 : 0;
  }
  EXPECT_EQ(stops, 2);
  const Outcome rest = run(go_on);
  ASSERT_EQ(rest.status, 0) << rest.text;
  expect_same("signalled", "straight");
}

}  // namespace
}  // namespace trireme::app
