// A save of several ranks while the file layer of any of them fails or stops: all ranks throw or
// none, what was saved before stays whole, and training goes on.

#include <gtest/gtest.h>

#include "checkpoint/fallback.h"
#include "checkpoint/folder.h"
#include "checkpoint/simulated_disk.h"
#include "checkpoint/test_folder.h"
#include "core/error.h"
#include "parallel_run.h"
#include "train/together.h"

namespace trireme {
namespace {

using checkpoint::SimulatedDisk;
using Faults = SimulatedDisk::Faults;

// A rank's disk that has no room for another file.
class FullDisk final : public checkpoint::Disk {
 public:
  std::unique_ptr<checkpoint::DiskFile> create(const Path& path) override {
    fail_path("create", path, ENOSPC);
  }
  void create_folder(const Path& path) override { system_.create_folder(path); }
  void sync_folder(const Path& path) override { system_.sync_folder(path); }
  void rename(const Path& from, const Path& to) override { system_.rename(from, to); }
  bool exchange(const Path& a, const Path& b) override { return system_.exchange(a, b); }
  void remove_all(const Path& path) override { system_.remove_all(path); }

 private:
  checkpoint::Disk& system_ = checkpoint::system_disk();
};

Model small_model() {
  Model model;
  model.shape.layers = 2;
  model.shape.hidden = 16;
  model.shape.heads = 2;
  model.shape.ffn = 32;
  return model;
}

// Every byte of a checkpoint, tensor by tensor.
std::vector<std::byte> all_bytes(checkpoint::CheckpointReader& reader) {
  std::vector<std::byte> all;
  for (const checkpoint::StoredTensor& stored : reader.manifest().contents.tensors) {
    const Shape& shape = stored.tensor.shape;
    std::vector<std::byte> one(static_cast<size_t>(shape.elements() * 4));
    reader.read(stored.tensor,
                {.offset = checkpoint::whole(shape).offset, .extent = shape, .storage = shape},
                one);
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

/// Iterations 1 and 2 of a run are saved; iteration 3 is about to be, again and again. The first
/// rank looks at what is there when all are behind a save.
class InterruptedSaveOfRanks : public checkpoint::TestFolder {
 protected:
  static constexpr Cut kCut = {.p = 2, .t = 2};

  // Runs trial on all ranks, with a save that it may do.
  struct Trial {
    RankRun& rank;
    train::World world;
    // What it failed with, on all ranks alike; empty: nothing.
    std::string save(const Path& root, checkpoint::Disk& disk) const {
      std::string error;
      try {
        train::save_checkpoint(world, rank.session, rank.trainer.position(), kSeed, "", root, disk);
      } catch (const Error& told) {
        error = text_of(told.trouble());
      }
      for (const std::string& other : train::together(world, [&] { return error; }))
        EXPECT_EQ(other, error);
      return error;
    }
  };
  void on_ranks(const std::function<void(const Trial&)>& trial) {
    const Model model = small_model();
    comm::run_ranks({.ranks = kCut.ranks()}, [&](comm::Port& port) {
      RankRun rank(port, model, kCut);
      const Trial ready = {rank, {port.world(), rank.session.stream()}};
      for (int iteration = 1; iteration <= 3; ++iteration) {
        rank.trainer.step();
        const Path root = iteration == 3 ? folder() / "three" : before_;
        EXPECT_EQ(ready.save(root, checkpoint::system_disk()), "");
        if (!ready.world.is_first()) continue;
        auto reader = checkpoint::CheckpointReader::open(root);
        bytes_[iteration] = all_bytes(reader);
      }
      trial(ready);
      rank.trainer.step();
    });
  }

  // A fresh folder as it was before the save.
  Path fresh() {
    Path root = folder() / format("root-{}", folders_++);
    std::filesystem::copy(before_, root, std::filesystem::copy_options::recursive);
    return root;
  }

  int64_t expect_whole(const Path& root) {
    checkpoint::NewestWhole found = checkpoint::open_newest_whole(root);
    EXPECT_TRUE(found.passed_over.empty()) << found.passed_over.front();
    const int64_t iteration = found.reader.manifest().run.iteration;
    EXPECT_TRUE(iteration == 2 || iteration == 3) << iteration;
    EXPECT_EQ(all_bytes(found.reader), bytes_[iteration]);
    EXPECT_NO_THROW(checkpoint::CheckpointReader::of_iteration(root, 1).verify());
    return iteration;
  }

 private:
  Path before_ = folder() / "before";
  std::map<int64_t, std::vector<std::byte>> bytes_;
  int folders_ = 0;
};

TEST_F(InterruptedSaveOfRanks, LeavesTheOldOrTheNewCheckpointWholeWhateverCallFails) {
  std::unique_ptr<SimulatedDisk> disk;  // of all ranks
  checkpoint::Crashes crashes(8);
  std::map<int64_t, int> seen;
  on_ranks([&](const Trial& trial) {
    // The first rank makes ready and looks, the others wait for it.
    const auto attempt = [&](Faults faults, const auto& look) {
      const Path root = train::together(trial.world, [&]() -> std::string {
                          if (!trial.world.is_first()) return "";
                          const Path fresh_root = fresh();
                          disk = std::make_unique<SimulatedDisk>(fresh_root, faults);
                          return fresh_root.string();
                        }).front();
      const bool saved = trial.save(root, *disk).empty();
      return train::together(trial.world, [&] {
        if (trial.world.is_first()) {
          look(root, saved);
          std::filesystem::remove_all(root);
        }
        return std::to_string(disk->calls());
      });
    };
    const int calls = std::stoi(attempt({}, [&](const Path& root, bool saved) {
                                  EXPECT_TRUE(saved);
                                  EXPECT_EQ(expect_whole(root), 3);
                                }).front());
    EXPECT_GT(calls, 100);
    for (int call = 0; call < calls; ++call) {
      if (call % 3 != 0 && calls - call > 20) continue;  // of the writing, a third
      for (const Faults& faults :
           {Faults{.fail_at = call}, Faults{.full_from = call}, Faults{.gone_from = call}}) {
        attempt(faults, [&](const Path& root, bool saved) {
          const int64_t iteration = expect_whole(root);
          EXPECT_TRUE(!saved || iteration == 3);
          ++seen[iteration];
          // And when the power goes then.
          for (const checkpoint::Tree& state : crashes.fresh(*disk, 2)) {
            const Path after = folder() / "after";
            checkpoint::write_tree(state, after);
            ++seen[expect_whole(after)];
            std::filesystem::remove_all(after);
          }
        });
      }
    }
  });
  EXPECT_GE(seen[2], 100);
  EXPECT_GE(seen[3], 2);
}

TEST_F(InterruptedSaveOfRanks, TellsTheRankAndTheCauseAndTheNextSaveWorks) {
  on_ranks([&](const Trial& trial) {
    const Path root = folder() / "root";
    FullDisk full;
    const bool fails = trial.rank.port.rank() == 2;
    EXPECT_EQ(trial.save(root, checkpoint::system_disk()), "");
    trial.rank.trainer.step();
    const std::string error = trial.save(root, fails ? full : checkpoint::system_disk());
    EXPECT_NE(error.find("rank 2: "), std::string::npos) << error;
    EXPECT_NE(error.find("model-p1-t0.safetensors: cannot create: No space left on device"),
              std::string::npos)
        << error;
    if (trial.world.is_first()) {
      EXPECT_EQ(checkpoint::latest_iteration(root), 3);
      EXPECT_NO_THROW(checkpoint::CheckpointReader::open(root).verify());
    }
    EXPECT_EQ(trial.save(root, checkpoint::system_disk()), "");
  });
  EXPECT_EQ(checkpoint::latest_iteration(folder() / "root"), 4);
  EXPECT_NO_THROW(checkpoint::CheckpointReader::open(folder() / "root").verify());
}

}  // namespace
}  // namespace trireme
