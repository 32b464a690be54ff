// A run that saves while the file layer fails or stops, at every call of a save.

#include <gtest/gtest.h>

#include <map>

#include "checkpoint/fallback.h"
#include "checkpoint/folder.h"
#include "checkpoint/simulated_disk.h"
#include "checkpoint/test_folder.h"
#include "core/error.h"
#include "core/format.h"
#include "test_run.h"
#include "train/checkpointing.h"

namespace trireme {
namespace {

using checkpoint::SimulatedDisk;
using checkpoint::Stopped;
using Faults = SimulatedDisk::Faults;

/// Iterations 1 and 2 of a run are saved; iteration 3 is about to be, and 1 and 2 to be removed for
/// it.
class InterruptedSave : public checkpoint::TestFolder {
 protected:
  InterruptedSave() {
    std::filesystem::create_directory(before_);
    for (int64_t iteration = 1; iteration <= 3; ++iteration) {
      run_.steps(1);
      states_[iteration] = run_.state();
      if (iteration < 3)
        train::save_checkpoint(run_.world(), run_.session, run_.trainer.position(), kSeed, "",
                               before_);
    }
  }

  /// A fresh folder as it was before the save.
  Path fresh() {
    Path root = folder() / format("root-{}", folders_++);
    std::filesystem::copy(before_, root, std::filesystem::copy_options::recursive);
    return root;
  }

  /// What a run does when it saves with --keep-last 1.
  void save(const Path& root, checkpoint::Disk& disk) {
    train::save_checkpoint(run_.world(), run_.session, run_.trainer.position(), kSeed, "", root,
                           disk);
    checkpoint::apply_retention(root, {.keep_last = 1}, disk);
  }

  /// Loads what a run would continue from and compares every bit; its iteration.
  int64_t expect_whole(const Path& root) {
    checkpoint::NewestWhole found = checkpoint::open_newest_whole(root);
    EXPECT_TRUE(found.passed_over.empty()) << found.passed_over.front();
    const train::Position position = train::load_checkpoint(loaded_.session, found.reader);
    EXPECT_EQ(position.consumed_samples, position.iteration * 4);
    EXPECT_EQ(position.adam_step, position.iteration);
    EXPECT_EQ(loaded_.state(), states_.at(position.iteration));
    EXPECT_GE(position.iteration, 2);
    // Older ones are whole too, as long as they are there.
    for (const int64_t iteration : checkpoint::find_iterations(root))
      EXPECT_NO_THROW(checkpoint::CheckpointReader::of_iteration(root, iteration).verify());
    return position.iteration;
  }

  /// The next save works and tidies.
  void expect_next_save_works(const Path& root) {
    save(root, checkpoint::system_disk());
    EXPECT_EQ(expect_whole(root), 3);
    size_t entries = 0;
    for (const auto& entry : std::filesystem::directory_iterator(root)) {
      EXPECT_FALSE(entry.path().filename().string().starts_with('.')) << entry.path();
      ++entries;
    }
    EXPECT_EQ(entries, 2U);
  }

  int calls_of_a_save() {
    const Path root = fresh();
    SimulatedDisk disk(root, {});
    save(root, disk);
    EXPECT_EQ(expect_whole(root), 3);
    std::filesystem::remove_all(root);
    return disk.calls();
  }

  TestRun run_{{}};

 private:
  TestRun loaded_{{}};
  std::map<int64_t, std::vector<float>> states_;
  Path before_ = folder() / "before";
  int folders_ = 0;
};

TEST_F(InterruptedSave, LeavesTheOldOrTheNewCheckpointWholeWhereverItStops) {
  const int calls = calls_of_a_save();
  checkpoint::Crashes crashes(5);
  std::map<int64_t, int> seen;
  for (int call = 0; call <= calls; ++call) {
    const Path root = fresh();
    SimulatedDisk disk(root, {.stop_at = call});
    try {
      save(root, disk);
    } catch (const Stopped&) {
    }
    for (const checkpoint::Tree& state : crashes.fresh(disk, 6)) {
      const Path after = folder() / "after";
      checkpoint::write_tree(state, after);
      ++seen[expect_whole(after)];
      expect_next_save_works(after);
      if (HasFailure()) FAIL() << "stopped at call " << call << " of " << calls;
      std::filesystem::remove_all(after);
    }
    std::filesystem::remove_all(root);
  }
  EXPECT_GE(seen[2], 1);
  EXPECT_GE(seen[3], 1);
}

TEST_F(InterruptedSave, LosesNothingWhenAnyCallFailsOrTheDiskIsFullFromThereOn) {
  const int calls = calls_of_a_save();
  checkpoint::Crashes crashes(6);
  testing::internal::CaptureStderr();
  for (const bool lasting : {false, true}) {
    for (int call = 0; call < calls; ++call) {
      const Path root = fresh();
      const Faults faults = lasting ? Faults{.full_from = call} : Faults{.fail_at = call};
      SimulatedDisk disk(root, faults);
      bool failed = false;
      try {
        save(root, disk);
      } catch (const Error&) {
        failed = true;
      }
      const int64_t iteration = expect_whole(root);
      EXPECT_TRUE(failed || iteration == 3);
      // And when the power goes then.
      for (const checkpoint::Tree& state : crashes.fresh(disk, 2)) {
        const Path after = folder() / "after";
        checkpoint::write_tree(state, after);
        expect_whole(after);
        std::filesystem::remove_all(after);
      }
      expect_next_save_works(root);
      if (HasFailure()) FAIL() << "call " << call << " of " << calls << " failed";
      std::filesystem::remove_all(root);
    }
  }
  testing::internal::GetCapturedStderr();
}

}  // namespace
}  // namespace trireme
