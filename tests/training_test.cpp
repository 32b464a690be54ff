// Whole runs on the CPU backend: what must not change their bits does not.

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "checkpoint/safetensors.h"
#include "core/error.h"
#include "test_run.h"
#include "train/checkpointing.h"
#include "train/inspector.h"

namespace trireme {
namespace {

TEST(Training, LearnsTheRules) {
  TestRun run({});
  const auto losses = run.steps(100);
  EXPECT_NEAR(losses.front(), std::log(kWords), 0.1);
  EXPECT_LT(losses.back(), 0.7 * losses.front());
}

TEST(Training, HasTheSameBitsForAnyNumberOfThreads) {
  TestRun one({.threads = 1});
  const auto losses = one.steps(5);
  const auto state = one.state();
  for (const int threads : {2, 3}) {
    TestRun other({.threads = threads});
    EXPECT_EQ(other.steps(5), losses) << threads;
    EXPECT_EQ(other.state(), state) << threads;
  }
}

TEST(Training, HasTheSameLossesForAnyMicrobatchUpToTheOrderOfSums) {
  TestRun whole({.micro_batch = 4, .microbatches = 1});
  const auto losses = whole.steps(3);
  for (const int microbatches : {2, 4}) {
    TestRun cut({.micro_batch = 4 / microbatches, .microbatches = microbatches});
    const auto others = cut.steps(3);
    for (size_t i = 0; i < losses.size(); ++i)
      EXPECT_NEAR(others[i] / losses[i], 1, 1e-6) << microbatches;
  }
}

// Loss, loss by the evaluation program, and gradient norm of the first step.
std::array<double, 3> first_step(bool packed, bool reset, const RunOptions& options) {
  TestRun run(options, std::make_shared<PackedSamples>(packed),
              {.vocab_size = kWords,
               .eod = kEod,
               .reset_position_ids = reset,
               .reset_attention_mask = reset,
               .eod_mask_loss = true});
  const double evaluated =
      train::evaluate_loss(run.session, run.batches, 0, run.batches->samples());
  const train::StepReport report = run.trainer.step();
  return {report.loss, evaluated, report.gradient_norm};
}

TEST(PackedDocuments, HaveTheLossAndGradientOfTheDocumentsAlone) {
  const auto alone = first_step(false, false, {.micro_batch = 1, .microbatches = 2, .dropout = 0});
  const auto packed = first_step(true, true, {.micro_batch = 1, .microbatches = 1, .dropout = 0});
  for (size_t i = 0; i < alone.size(); ++i) EXPECT_NEAR(packed[i] / alone[i], 1, 2e-6) << i;
  EXPECT_EQ(packed[0], packed[1]);
  // Without resets the second document sees the first one.
  const auto mixed = first_step(true, false, {.micro_batch = 1, .microbatches = 1, .dropout = 0});
  for (size_t i = 0; i < alone.size(); ++i) EXPECT_GT(std::abs(mixed[i] / alone[i] - 1), 1e-5) << i;
}

TEST(Training, HasTheSameBitsHoweverFarTheDataAreReadAhead) {
  for (const bool masked : {false, true}) {
    const data::BatchRules rules = {.vocab_size = kWords, .eod = 5, .eod_mask_loss = masked};
    TestRun inside({.micro_batch = 1, .microbatches = 4}, std::make_shared<RuleSamples>(), rules);
    const auto losses = inside.steps(6);
    const auto state = inside.state();
    for (const int readers : {1, 3}) {
      TestRun ahead({.micro_batch = 1, .microbatches = 4, .readers = readers},
                    std::make_shared<RuleSamples>(), rules);
      EXPECT_EQ(ahead.steps(6), losses);
      EXPECT_EQ(ahead.state(), state);
    }
  }
}

class CheckpointedTraining : public testing::Test {
 protected:
  CheckpointedTraining() {
    std::string pattern = testing::TempDir() + "trireme-training-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  ~CheckpointedTraining() override { std::filesystem::remove_all(folder_); }
  Path folder_;
};

TEST_F(CheckpointedTraining, ResumesWithTheSameBits) {
  TestRun whole({});
  const auto losses = whole.steps(7);
  {
    TestRun first({});
    EXPECT_EQ(first.steps(3), std::vector<double>(losses.begin(), losses.begin() + 3));
    train::save_checkpoint(first.world(), first.session, first.trainer.position(), kSeed, "",
                           folder_);
  }
  TestRun second({.threads = 2});
  auto reader = checkpoint::CheckpointReader::open(folder_);
  second.trainer.resume(train::load_checkpoint(second.session, reader));
  EXPECT_EQ(second.trainer.position().consumed_samples, 12);
  EXPECT_EQ(second.steps(4), std::vector<double>(losses.begin() + 3, losses.end()));
  EXPECT_EQ(second.state(), whole.state());
}

TEST_F(CheckpointedTraining, GoesOnWithTheBatchThatItWouldHaveHadWhereTheBatchGrows) {
  const RunOptions growing = {.micro_batch = 2, .microbatches = 3, .grows = true};
  TestRun whole(growing);
  std::vector<double> losses;
  std::vector<int64_t> sizes;
  for (int i = 0; i < 7; ++i) {
    const train::StepReport report = whole.trainer.step();
    losses.push_back(report.loss);
    sizes.push_back(report.global_batch);
  }
  EXPECT_EQ(sizes, (std::vector<int64_t>{2, 2, 4, 6, 6, 6, 6}));
  TestRun first(growing);
  first.steps(2);
  train::save_checkpoint(first.world(), first.session, first.trainer.position(), kSeed, "",
                         folder_);
  TestRun second(growing);
  auto reader = checkpoint::CheckpointReader::open(folder_);
  second.trainer.resume(train::load_checkpoint(second.session, reader));
  EXPECT_EQ(second.steps(5), std::vector<double>(losses.begin() + 2, losses.end()));
  EXPECT_EQ(second.state(), whole.state());
}

TEST_F(CheckpointedTraining, RefusesADamagedCheckpointByFileAndTensor) {
  TestRun run({});
  run.steps(1);
  train::save_checkpoint(run.world(), run.session, run.trainer.position(), kSeed, "", folder_);
  const Path file = folder_ / "iter_0000001" / "model.safetensors";
  std::string content = read_file(file);
  content[content.size() - 5] = static_cast<char>(content[content.size() - 5] ^ 1);
  write_file(file, content);
  auto reader = checkpoint::CheckpointReader::open(folder_);
  try {
    train::load_weights(run.session, reader);
    FAIL();
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("model.safetensors"), std::string::npos) << message;
    EXPECT_NE(message.find("final_layernorm.bias"), std::string::npos) << message;
  }
}

TEST(OverfitBatch, TakesTheLossOfOneBatchDown) {
  TestRun run({});
  run.trainer.overfit();
  const auto losses = run.steps(60);
  EXPECT_LT(losses.back(), 0.3 * losses.front());
  EXPECT_EQ(run.trainer.position().consumed_samples, 240);
}

TEST_F(CheckpointedTraining, DumpsWhatTheActionsWroteAndTracesThemWithoutChangingBits) {
  TestRun plain({});
  const auto losses = plain.steps(3);
  TestRun watched({});
  const Path trace = folder_ / "trace.json";
  {
    train::Inspector inspector(watched.session, watched.world(),
                               {.dump = folder_, .trace = trace, .inspect_iters = 2});
    for (int64_t i = 1; i <= 3; ++i) {
      inspector.start_iteration(i);
      EXPECT_EQ(watched.trainer.step().loss, losses[static_cast<size_t>(i - 1)]);
      inspector.end_iteration();
    }
  }
  EXPECT_EQ(watched.state(), plain.state());
  EXPECT_FALSE(std::filesystem::exists(folder_ / "iter_0000003"));

  // The trace has an event for each action and each op in it, nested in time.
  const auto events = nlohmann::json::parse(read_file(trace))["traceEvents"];
  std::vector<std::string> actions;
  double ops_inside = 0;
  for (const auto& event : events) {
    if (event.value("cat", "") == "action") actions.push_back(event["name"]);
    if (event.value("cat", "") == "op") ops_inside += event["dur"].get<double>();
  }
  EXPECT_EQ(actions, (std::vector<std::string>{"0F0", "0B0", "0F1", "0B1", "reduce_wait", "step",
                                               "0F0", "0B0", "0F1", "0B1", "reduce_wait", "step"}));
  double inside = 0;
  for (const auto& event : events)
    if (event.value("cat", "") == "action") inside += event["dur"].get<double>();
  EXPECT_LE(ops_inside, inside);

  // The loss of the first step can be computed from what was dumped.
  double loss = 0;
  for (const char* file : {"0F0", "0F1"}) {
    const checkpoint::SafetensorsFile dumped(folder_ / "iter_0000001" /
                                             (std::string(file) + ".safetensors"));
    const auto losses_of = dumped.find("0.head.losses");
    ASSERT_TRUE(losses_of) << file;
    const auto bytes = dumped.bytes(*losses_of);
    for (size_t at = 0; at < bytes.size(); at += sizeof(float)) {
      float value;
      std::memcpy(&value, bytes.data() + at, sizeof value);
      loss += value;
    }
  }
  EXPECT_NEAR(loss / (4 * kLength), losses[0], 1e-6);

  // Gradients and weights by the names of the tensor table; weights are those before the step.
  const checkpoint::SafetensorsFile weights(folder_ / "iter_0000001" / "weights.safetensors");
  TestRun fresh({});
  for (int i = 0; i < fresh.session.plan().table.size(); ++i) {
    const TensorId id{i};
    if (fresh.session.plan().table[id].tied_to) continue;
    std::vector<float> values(static_cast<size_t>(fresh.session.slice_elements(id)));
    fresh.session.read_tensor(id, engine::TensorState::parameter, values);
    const auto found = weights.find(fresh.session.plan().table[id].name);
    ASSERT_TRUE(found);
    const auto bytes = weights.bytes(*found);
    ASSERT_EQ(bytes.size(), values.size() * sizeof(float));
    EXPECT_EQ(std::memcmp(bytes.data(), values.data(), bytes.size()), 0);
  }
}

// Of the second layer's MLP; what it was before.
float replace_a_weight(TestRun& run, float value) {
  for (int i = 0; i < run.session.plan().table.size(); ++i) {
    const TensorId id{i};
    if (run.session.plan().table[id].name != "decoder.layers.1.mlp.linear_fc1.weight") continue;
    std::vector<float> values(static_cast<size_t>(run.session.slice_elements(id)));
    run.session.read_tensor(id, engine::TensorState::parameter, values);
    const float before = std::exchange(values[5], value);
    run.session.write_tensor(id, engine::TensorState::parameter, values);
    return before;
  }
  ADD_FAILURE() << "no such tensor";
  return 0;
}

TEST_F(CheckpointedTraining, KeepsThePositionOfTheScheduleBehindASkippedStep) {
  TestRun whole({});
  whole.steps(2);
  const float weight = replace_a_weight(whole, std::numeric_limits<float>::infinity());
  EXPECT_TRUE(whole.trainer.step().skipped);
  replace_a_weight(whole, weight);
  train::save_checkpoint(whole.world(), whole.session, whole.trainer.position(), kSeed, "",
                         folder_);
  TestRun second({});
  auto reader = checkpoint::CheckpointReader::open(folder_);
  second.trainer.resume(train::load_checkpoint(second.session, reader));
  EXPECT_EQ(second.trainer.position(),
            (train::Position{
                .iteration = 3, .consumed_samples = 12, .scheduler_samples = 8, .adam_step = 2}));
  EXPECT_EQ(second.steps(4), whole.steps(4));
  EXPECT_EQ(second.trainer.position(), whole.trainer.position());
  EXPECT_EQ(second.state(), whole.state());
}

TEST(NonFinite, StepIsNotTakenAndItsFirstOpIsFound) {
  TestRun run({});
  run.steps(2);
  const float whole = replace_a_weight(run, std::numeric_limits<float>::infinity());

  const auto moments_before = run.trainer.position();
  const train::StepReport report = run.trainer.step();
  EXPECT_TRUE(report.skipped);
  EXPECT_FALSE(std::isfinite(report.gradient_norm));
  const std::string where = run.trainer.find_non_finite(run.world());
  EXPECT_NE(where.find("y of product, layer 1, microbatch 0 (0F0)"), std::string::npos) << where;
  EXPECT_NE(where.find("samples 8 to 9"), std::string::npos) << where;
  EXPECT_EQ(run.trainer.position().adam_step, moments_before.adam_step);
  EXPECT_EQ(run.trainer.position().scheduler_samples, moments_before.scheduler_samples);
  EXPECT_EQ(run.trainer.position().consumed_samples, moments_before.consumed_samples + 4);

  // With the number repaired training goes on; weights and moments never saw the bad batch.
  replace_a_weight(run, whole);
  for (const float x : run.state()) ASSERT_TRUE(std::isfinite(x));
  EXPECT_FALSE(run.trainer.step().skipped);
}

// What is found where nothing is (a fault of the machine that does not come again) changes nothing.
TEST(NonFinite, LookingForItTakesNoStep) {
  TestRun run({});
  run.steps(2);
  const std::vector<float> before = run.state();
  const std::string where = run.trainer.find_non_finite(run.world());
  EXPECT_NE(where.find("a fault of the machine"), std::string::npos) << where;
  EXPECT_EQ(run.state(), before);
  TestRun other({});
  other.steps(2);
  EXPECT_EQ(run.steps(2), other.steps(2));
}

TEST(Evaluation, IsTheLossWithoutDropoutAndChangesNothing) {
  TestRun run({});
  run.steps(2);
  const auto before = run.state();
  const double loss = train::evaluate_loss(run.session, run.batches, 500, 8);
  EXPECT_EQ(train::evaluate_loss(run.session, run.batches, 500, 8), loss);
  EXPECT_EQ(run.state(), before);
  // and training goes on as if nothing had been evaluated
  TestRun other({});
  other.steps(2);
  EXPECT_EQ(run.steps(2), other.steps(2));
}

}  // namespace
}  // namespace trireme
