// The loop of a run on several ranks: what one of them meets is told alike by all, and all go on or
// end at the same step.

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>

#include "checkpoint/folder.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/test_folder.h"
#include "core/error.h"
#include "core/log.h"
#include "parallel_run.h"
#include "train/inspector.h"
#include "train/loop.h"

namespace trireme {
namespace {

constexpr Cut kCut = {.p = 2, .t = 2, .d = 2};

void on_ranks(const Cut& cut, const std::function<void(RankRun& rank, train::World world)>& body) {
  const Model model;
  const parallel::Topology topology(cut.p, cut.t, cut.d);
  comm::LocalRun local = {.ranks = cut.ranks(), .patience = {.limit = std::chrono::seconds(120)}};
  for (int rank = 0; rank < cut.ranks(); ++rank)
    local.places.push_back(topology.coordinates(Rank{rank}).text());
  comm::run_ranks(local, [&](comm::Port& port) {
    be_quiet(port.rank() != 0);
    RankRun rank(port, model, cut);
    body(rank, {port.world(), rank.session.stream()});
  });
}

// Of a tensor that this rank may hold; what it was before.
std::optional<float> replace_a_weight(RankRun& rank, const char* name, float value) {
  const model::RunPlan& plan = rank.session.plan();
  const std::optional<TensorId> id = plan.table.find(name);
  if (!plan.local.holds(*id)) return std::nullopt;
  std::vector<float> values(static_cast<size_t>(rank.session.slice_elements(*id)));
  rank.session.read_tensor(*id, TensorState::parameter, values);
  const float before = std::exchange(values[5], value);
  rank.session.write_tensor(*id, TensorState::parameter, values);
  return before;
}

TEST(LoopOfRanks, TellsAlikeOnWhichRankANumberWasFirstNotFinite) {
  on_ranks(kCut, [](RankRun& rank, const train::World& world) {
    rank.trainer.step();
    // Both replicas of one shard of the second stage; all others have what comes of it.
    constexpr const char* kName = "decoder.layers.3.mlp.linear_fc1.weight";
    const bool bad = rank.session.plan().at.tensor == 1;
    const auto before =
        bad ? replace_a_weight(rank, kName, std::numeric_limits<float>::infinity()) : std::nullopt;
    EXPECT_TRUE(rank.trainer.step().skipped);
    const std::string where = rank.trainer.find_non_finite(world);
    EXPECT_EQ(where.find("rank 5 = p1 t1 d0, "), 0U) << where;
    EXPECT_NE(where.find("y of product, layer 3, microbatch 0 (0F0)"), std::string::npos) << where;
    EXPECT_NE(where.find("samples 8 to 8"), std::string::npos) << where;
    if (before) replace_a_weight(rank, kName, *before);
    EXPECT_FALSE(rank.trainer.step().skipped);
  });
}

TEST(LoopOfRanks, LooksForANumberThatDoesNotComeAgainWithoutTakingAStep) {
  const auto losses_of = [](bool looks) {
    std::vector<double> losses;
    on_ranks({.p = 2, .t = 2, .v = 2}, [&](RankRun& rank, const train::World& world) {
      rank.trainer.step();
      if (looks) {
        const std::string where = rank.trainer.find_non_finite(world);
        EXPECT_NE(where.find("a fault of the machine"), std::string::npos) << where;
      }
      const double loss = rank.trainer.step().loss;
      if (world.is_first()) losses.push_back(loss);
    });
    return losses;
  };
  EXPECT_EQ(losses_of(true), losses_of(false));
}

class LoopOfRanksInFolder : public checkpoint::TestFolder {
 protected:
  // A run of four steps that saves each of them.
  [[nodiscard]] train::TrainOptions options() const {
    train::TrainOptions options;
    options.checkpoint.save = folder() / "ck";
    options.checkpoint.save_interval = 1;
    options.logging.log_interval = 100;
    return options;
  }
  static train::Run run_of(const train::TrainOptions& options, RankRun& rank, train::World world,
                           std::function<void()> save) {
    return {.options = options,
            .world = world,
            .session = rank.session,
            .trainer = rank.trainer,
            .rates = {.train_iterations = 4, .peak_flops = 1e9},
            .save = std::move(save)};
  }
};

TEST_F(LoopOfRanksInFolder, DumpsEachRanksPartInAFolderOfItsOwnWithoutChangingBits) {
  const Cut cut = {.p = 2, .t = 2};
  const Result plain = run(Model(), cut);
  on_ranks(cut, [&](RankRun& rank, const train::World& world) {
    train::Inspector inspector(rank.session, world, {.dump = folder(), .inspect_iters = 1});
    for (int64_t i = 1; i <= 2; ++i) {
      inspector.start_iteration(i);
      EXPECT_EQ(rank.trainer.step().loss, plain.losses[static_cast<size_t>(i - 1)]);
      inspector.end_iteration();
    }
  });
  // Both tensor ranks of the last stage have all losses of each microbatch.
  for (const char* rank : {"rank_2", "rank_3"}) {
    double loss = 0;
    for (int microbatch = 0; microbatch < 8; ++microbatch) {
      const checkpoint::SafetensorsFile dumped(folder() / rank / "iter_0000001" /
                                               format("0F{}.safetensors", microbatch));
      const auto losses = dumped.find("0.head.losses");
      ASSERT_TRUE(losses);
      const auto bytes = dumped.bytes(*losses);
      for (size_t at = 0; at < bytes.size(); at += sizeof(float)) {
        float value;
        std::memcpy(&value, bytes.data() + at, sizeof value);
        loss += value;
      }
    }
    EXPECT_NEAR(loss / (8 * kLength), plain.losses[0], 1e-6) << rank;
  }
  EXPECT_TRUE(std::filesystem::exists(folder() / "rank_0/iter_0000001/weights.safetensors"));
  EXPECT_FALSE(std::filesystem::exists(folder() / "rank_0/iter_0000002"));
}

// What a rank meets when it writes its part: the save that it has fails.
void fail_on(int rank, const train::World& world) {
  train::together(world, [&]() -> std::string {
    if (world.group.rank() == rank) fail({.where = "its file", .what = "no room"});
    return "";
  });
}

TEST_F(LoopOfRanksInFolder, GoesOnWhereASaveFailsOnOneRank) {
  train::TrainOptions wanted = options();
  wanted.logging.eval_iters = 2;
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  on_ranks(kCut, [&](RankRun& rank, const train::World& world) {
    train::Run run = run_of(wanted, rank, world, [&] {
      if (rank.trainer.position().iteration == 2) fail_on(5, world);
      train::save_checkpoint(world, rank.session, rank.trainer.position(), kSeed, "",
                             *wanted.checkpoint.save);
    });
    run.validation = rank.batches;
    run.validation_batch = 8;
    const train::RunResult result = train::run_loop(run);
    EXPECT_EQ(result.curve.train.size(), 4U);
    EXPECT_TRUE(result.validation_loss && std::isfinite(*result.validation_loss));
  });
  testing::internal::GetCapturedStdout();
  const std::string warnings = testing::internal::GetCapturedStderr();
  EXPECT_NE(warnings.find("iteration 2 was not saved, training goes on: "), std::string::npos);
  EXPECT_NE(warnings.find("rank 5 = p1 t1 d0: its file: no room"), std::string::npos) << warnings;
  EXPECT_EQ(warnings.find("was not saved"), warnings.rfind("was not saved")) << warnings;
  EXPECT_EQ(checkpoint::find_whole(*wanted.checkpoint.save), (std::vector<int64_t>{4, 3, 1}));
}

TEST_F(LoopOfRanksInFolder, FailsOnAllRanksWhereTheLastSaveDoes) {
  const train::TrainOptions wanted = options();
  testing::internal::CaptureStdout();
  std::atomic<int> failed = 0;
  on_ranks(kCut, [&](RankRun& rank, const train::World& world) {
    train::Run run = run_of(wanted, rank, world, [&] {
      if (rank.trainer.position().iteration == 4) fail_on(2, world);
    });
    try {
      train::run_loop(run);
    } catch (const Error& error) {
      EXPECT_EQ(error.trouble().where, "rank 2 = p0 t0 d1: its file");
      ++failed;
    }
  });
  testing::internal::GetCapturedStdout();
  EXPECT_EQ(failed, 8);
}

TEST_F(LoopOfRanksInFolder, EndsOnAllRanksAtOneStepWithASaveWhereTheTimeOfOneIsOver) {
  train::TrainOptions wanted = options();
  wanted.batch.exit_duration_in_mins = 60;
  testing::internal::CaptureStdout();
  on_ranks(kCut, [&](RankRun& rank, const train::World& world) {
    train::Run run = run_of(wanted, rank, world, [&] {
      train::save_checkpoint(world, rank.session, rank.trainer.position(), kSeed, "",
                             *wanted.checkpoint.save);
    });
    // Rank 3 was started long ago, by its clock.
    if (world.group.rank() == 3) run.start -= std::chrono::hours(2);
    EXPECT_EQ(train::run_loop(run).curve.train.size(), 1U);
  });
  testing::internal::GetCapturedStdout();
  EXPECT_EQ(checkpoint::latest_iteration(*wanted.checkpoint.save), 1);
}

}  // namespace
}  // namespace trireme
