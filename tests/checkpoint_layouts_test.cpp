// Checkpoints of any (p, t, d, v) in any other: weights and moments as whole tensors, to the bit,
// and training that goes on with the bits that the arithmetic contract promises.

#include <gtest/gtest.h>

#include <set>

#include "checkpoint/reader.h"
#include "checkpoint/test_folder.h"
#include "parallel_run.h"

namespace trireme {
namespace {

// A covering dozen of at most 8 ranks: every pair of factors, the mapping that puts data last, v.
const std::vector<Cut>& cuts() {
  static const std::vector<Cut> all = {
      {},
      {.d = 8},
      {.t = 4},
      {.p = 4},
      {.p = 2, .v = 2},
      {.t = 2, .d = 2},
      {.p = 2, .t = 2},
      {.p = 2, .d = 2},
      {.p = 2, .t = 4},
      {.p = 4, .d = 2},
      {.p = 2, .t = 2, .d = 2, .v = 2},
      {.p = 2,
       .t = 2,
       .d = 2,
       .rank_order = parallel::RankOrder::tensor_pipeline_data,
       .layout = parallel::Layout{.pipeline = 2, .layers_of = {3, 1}}},
  };
  return all;
}

// What the ranks say together of a run: losses of its steps, whole tensors behind them.
struct Continued {
  std::vector<double> losses;
  Tensors tensors;
  train::Position position;
};

struct Work {
  std::optional<Path> load = {};
  int steps = 0;
  std::optional<Path> save = {};
};

const std::vector kKept = {TensorState::parameter, TensorState::first_moment,
                           TensorState::second_moment};

Continued work(const Model& model, const Cut& cut, const Work& wanted) {
  Continued result;
  std::mutex mutex;
  const comm::LocalRun local = {.ranks = cut.ranks(),
                                .patience = {.limit = std::chrono::seconds(120)}};
  comm::run_ranks(local, [&](comm::Port& port) {
    RankRun rank(port, model, cut);
    if (wanted.load) {
      auto reader = checkpoint::CheckpointReader::open(*wanted.load);
      rank.trainer.resume(train::load_checkpoint(rank.session, reader));
    }
    std::vector<double> losses;
    for (int step = 0; step < wanted.steps; ++step) losses.push_back(rank.trainer.step().loss);
    if (wanted.save) {
      train::save_checkpoint({port.world(), rank.session.stream()}, rank.session,
                             rank.trainer.position(), kSeed, "", *wanted.save);
    }
    const std::lock_guard lock(mutex);
    result.losses = losses;
    result.position = rank.trainer.position();
    put_tensors(rank.session, kKept, result.tensors);
  });
  return result;
}

class Layouts : public checkpoint::TestFolder {};

TEST_F(Layouts, OfAnyKindLoadWhatAnyOtherSaved) {
  const Model model;
  std::vector<Tensors> saved;
  for (size_t i = 0; i < cuts().size(); ++i) {
    saved.push_back(
        work(model, cuts()[i], {.steps = 1, .save = folder() / std::to_string(i)}).tensors);
  }
  for (size_t from = 0; from < cuts().size(); ++from) {
    const Path root = folder() / std::to_string(from);
    EXPECT_NO_THROW(checkpoint::CheckpointReader::open(root).verify());
    for (const Cut& cut : cuts()) {
      const Continued loaded = work(model, cut, {.load = root});
      ASSERT_EQ(loaded.tensors, saved[from]) << cuts()[from].text() << " in " << cut.text();
      EXPECT_EQ(
          loaded.position,
          (train::Position{
              .iteration = 1, .consumed_samples = 8, .scheduler_samples = 8, .adam_step = 1}));
    }
  }
}

// Whatever p, v and the order of ranks are, the bits depend on t and d alone.
TEST_F(Layouts, ContinueWithTheBitsOfTheRunThatWasNotInterrupted) {
  const Model model;
  std::vector<Continued> whole;
  for (size_t i = 0; i < cuts().size(); ++i) {
    work(model, cuts()[i], {.steps = 2, .save = folder() / std::to_string(i)});
    whole.push_back(work(model, cuts()[i], {.steps = 4}));
  }
  int alike = 0;
  for (size_t from = 0; from < cuts().size(); ++from) {
    for (size_t to = 0; to < cuts().size(); ++to) {
      const bool same_sums = cuts()[from].t == cuts()[to].t && cuts()[from].d == cuts()[to].d;
      if (!same_sums && to != (from + 1) % cuts().size()) continue;
      const std::string what = cuts()[from].text() + " in " + cuts()[to].text();
      const Continued now =
          work(model, cuts()[to], {.load = folder() / std::to_string(from), .steps = 2});
      const std::vector<double> rest(whole[from].losses.begin() + 2, whole[from].losses.end());
      EXPECT_EQ(now.position, whole[from].position);
      // The first one is of equal weights, with sums in another order.
      EXPECT_NEAR(now.losses[0], rest[0], 2e-6 * rest[0]) << what;
      EXPECT_NEAR(now.losses[1], rest[1], 1e-3 * rest[1]) << what;
      if (!same_sums) continue;
      ++alike;
      EXPECT_EQ(now.losses, rest) << what;
      ASSERT_EQ(now.tensors, whole[from].tensors) << what;
    }
  }
  EXPECT_GE(alike, 20);
}

// Heads, words and layers that 2, 3 and 4 do not divide evenly, ranks that have nothing but padded
// rows, a head of its own.
TEST_F(Layouts, OfOddSizesLoadWhatAnyOtherSaved) {
  Model model;
  model.shape.layers = 5;
  model.shape.hidden = 60;
  model.shape.heads = 12;
  model.shape.ffn = 132;
  model.shape.vocabulary_granule = 32;
  model.shape.tied_embeddings = false;
  model.global_batch = 12;
  const auto layout = [](std::vector<int> layers, int p) {
    return parallel::Layout{.pipeline = p, .layers_of = std::move(layers)};
  };
  const std::vector<Cut> odd = {{},
                                {.t = 3, .d = 2},
                                {.p = 2, .t = 4, .layout = layout({2, 3}, 2)},
                                {.p = 2, .t = 3, .layout = layout({1, 2, 0, 2}, 2)},
                                {.p = 3, .t = 2, .layout = layout({3, 2, 0}, 3)},
                                {.d = 3}};
  std::vector<Tensors> saved;
  for (size_t i = 0; i < odd.size(); ++i)
    saved.push_back(
        work(model, odd[i], {.steps = 1, .save = folder() / std::to_string(i)}).tensors);
  for (size_t from = 0; from < odd.size(); ++from) {
    for (const Cut& cut : odd) {
      ASSERT_EQ(work(model, cut, {.load = folder() / std::to_string(from)}).tensors, saved[from])
          << odd[from].text() << " in " << cut.text();
    }
  }
}

// One of each way to cut, in an instant.
TEST_F(Layouts, OfEightRanksLoadInFour) {
  const Model model;
  const Tensors saved =
      work(model, {.p = 2, .t = 2, .d = 2}, {.steps = 1, .save = folder()}).tensors;
  EXPECT_EQ(work(model, {.p = 2, .d = 2, .v = 2}, {.load = folder()}).tensors, saved);
}

TEST_F(Layouts, HaveAFileForEachRankThatStoresAndSayWhoSavedThem) {
  work(Model(), {.p = 2, .t = 2, .d = 2}, {.steps = 1, .save = folder()});
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder() / "iter_0000001"))
    names.insert(entry.path().filename());
  EXPECT_EQ(names, (std::set<std::string>{
                       "manifest.json", "model-p0-t0.safetensors", "model-p0-t1.safetensors",
                       "model-p1-t0.safetensors", "model-p1-t1.safetensors",
                       "optimizer-p0-t0.safetensors", "optimizer-p0-t1.safetensors",
                       "optimizer-p1-t0.safetensors", "optimizer-p1-t1.safetensors"}));
  const auto reader = checkpoint::CheckpointReader::open(folder());
  EXPECT_EQ(reader.manifest().run.ranks, parallel::Topology(2, 2, 2));
  // A tied tensor is stored once.
  EXPECT_FALSE(reader.has("output_layer.weight"));
  EXPECT_EQ(reader.manifest().contents.tensors.size(), 3 * (2 + 2 + 4 * 12U));
}

}  // namespace
}  // namespace trireme
