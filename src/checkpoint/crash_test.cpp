#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <iterator>
#include <set>

#include "checkpoint/folder.h"
#include "checkpoint/reader.h"
#include "checkpoint/simulated_disk.h"
#include "checkpoint/test_folder.h"
#include "checkpoint/tiny_checkpoint.h"
#include "core/error.h"

namespace trireme::checkpoint {
namespace {

/// A save of iteration `next` into a folder that holds a checkpoint of iteration `before`, and one
/// of iteration 50 before that.
struct Scenario {
  const char* name;
  int64_t before;  ///< 0: an empty folder
  int64_t next;
  bool exchanges;
};

constexpr int kOld = 1;  // salts
constexpr int kNew = 2;

void PrintTo(const Scenario& scenario, std::ostream* out) {
  *out << scenario.name;
}

class Interrupted : public TestFolder, public testing::WithParamInterface<Scenario> {
 protected:
  Interrupted() {
    std::filesystem::create_directory(before_);
    if (GetParam().before == 0) return;
    tiny::save(before_, 50, kOld);
    tiny::save(before_, GetParam().before, kOld);
  }

  /// A fresh folder as it was before the save.
  [[nodiscard]] Path fresh() {
    Path root = folder() / format("root-{}", next_folder_++);
    std::filesystem::copy(before_, root, std::filesystem::copy_options::recursive);
    return root;
  }

  static void save(const Path& root, Disk& disk) {
    tiny::save(root, GetParam().next, kNew, {}, disk);
  }

  /// The old state or the new one, whole, is what a reader sees. Returns whether it is the new one.
  static bool expect_old_or_new(const Path& root) {
    std::optional<CheckpointReader> reader;
    try {
      reader = CheckpointReader::open(root);
    } catch (const Error& error) {
      // Nothing had been saved, and nothing is.
      EXPECT_EQ(GetParam().before, 0) << error.what();
      EXPECT_FALSE(latest_iteration(root));
      // The new one may have its name already, but it is whole then.
      for (const int64_t iteration : find_whole(root))
        tiny::expect_saved(CheckpointReader::open(root, iteration), iteration, kNew);
      return false;
    }
    const RunState run = reader->manifest().run;
    const bool is_new = run == tiny::run_state(GetParam().next, kNew);
    if (is_new) {
      tiny::expect_saved(std::move(*reader), GetParam().next, kNew);
    } else {
      tiny::expect_saved(std::move(*reader), GetParam().before, kOld);
    }
    // No iteration that was there is lost, and none looks whole that is not.
    const std::vector<int64_t> found = find_whole(root);
    EXPECT_EQ(std::count(found.begin(), found.end(), 50), GetParam().before == 0 ? 0 : 1);
    for (const int64_t iteration : found)
      EXPECT_NO_THROW(CheckpointReader::open(root, iteration).verify());
    return is_new;
  }

  /// The next save works, and nothing is left of the interrupted one.
  static void expect_next_save_tidies(const Path& root) {
    tiny::save(root, GetParam().next, kNew);
    EXPECT_TRUE(expect_old_or_new(root));
    size_t entries = 0;
    for (const auto& entry : std::filesystem::directory_iterator(root)) {
      EXPECT_FALSE(entry.path().filename().string().starts_with('.')) << entry.path();
      ++entries;
    }
    EXPECT_EQ(entries, find_whole(root).size() + 1);
  }

  [[nodiscard]] int calls_of_a_save() {
    const Path root = fresh();
    SimulatedDisk disk(root, {.exchanges = GetParam().exchanges});
    save(root, disk);
    EXPECT_TRUE(expect_old_or_new(root));
    return disk.calls();
  }

 private:
  Path before_ = folder() / "before";
  int next_folder_ = 0;
};

TEST_P(Interrupted, SaveLeavesTheOldOrTheNewCheckpointAtEveryCall) {
  const int calls = calls_of_a_save();
  ASSERT_GT(calls, 20);
  Crashes crashes(30);
  int news = 0;
  int olds = 0;
  for (int call = 0; call <= calls; ++call) {
    const Path root = fresh();
    SimulatedDisk disk(root, {.stop_at = call, .exchanges = GetParam().exchanges});
    try {
      save(root, disk);
    } catch (const Stopped&) {
    }
    for (const Tree& state : crashes.fresh(disk, 20)) {
      const Path after = folder() / "after";
      write_tree(state, after);
      ++(expect_old_or_new(after) ? news : olds);
      expect_next_save_tidies(after);
      if (HasFailure()) FAIL() << "stopped at call " << call << " of " << calls;
      std::filesystem::remove_all(after);
    }
    // Nobody else was there: a killed process leaves what the next save must be able to tidy.
    expect_next_save_tidies(root);
    std::filesystem::remove_all(root);
  }
  EXPECT_GE(news, 1);
  EXPECT_GE(olds, 1);
}

TEST_P(Interrupted, SaveAfterAKilledOneLosesNothingEitherWhenThePowerGoes) {
  const int calls = calls_of_a_save();
  Crashes crashes(31);
  for (int killed = 0; killed < calls; ++killed) {
    const Path root = fresh();
    SimulatedDisk disk(root, {.stop_at = killed, .exchanges = GetParam().exchanges});
    EXPECT_THROW(save(root, disk), Stopped);
    // The most delicate is what the next save does first: it tidies.
    const int stop_at = static_cast<int>(crashes.random()() % 8);
    disk.next_process({.stop_at = stop_at, .exchanges = GetParam().exchanges});
    EXPECT_THROW(save(root, disk), Stopped);
    for (const Tree& state : crashes.fresh(disk, 20)) {
      const Path after = folder() / "after";
      write_tree(state, after);
      expect_old_or_new(after);
      if (HasFailure()) FAIL() << "killed at call " << killed << ", power cut at " << stop_at;
      std::filesystem::remove_all(after);
    }
    std::filesystem::remove_all(root);
  }
}

TEST_F(TestFolder, RetentionInterruptedLeavesCheckpointsWholeOrAbsent) {
  const Path before = folder() / "before";
  std::filesystem::create_directory(before);
  for (const int64_t iteration : {100, 200, 300}) tiny::save(before, iteration, kOld);
  Crashes crashes(32);
  int calls = 100;
  for (int call = 0; call <= calls; ++call) {
    const Path root = folder() / format("root-{}", call);
    std::filesystem::copy(before, root, std::filesystem::copy_options::recursive);
    SimulatedDisk disk(root, {.stop_at = call});
    try {
      EXPECT_EQ(apply_retention(root, {.keep_last = 1}, disk), (std::vector<int64_t>{200, 100}));
      calls = disk.calls();
    } catch (const Stopped&) {
    }
    for (const Tree& state : crashes.fresh(disk, 20)) {
      const Path after = folder() / "after";
      write_tree(state, after);
      tiny::expect_saved(CheckpointReader::open(after), 300, kOld);
      size_t visible = 0;
      for (const auto& entry : std::filesystem::directory_iterator(after))
        visible += entry.path().filename().string().starts_with("iter_") ? 1 : 0;
      EXPECT_EQ(find_whole(after).size(), visible) << "stopped at call " << call;
      std::filesystem::remove_all(after);
    }
  }
  EXPECT_LT(calls, 100);
}

TEST_P(Interrupted, SaveTellsAFailureOfAnyCallAndLosesNothing) {
  const int calls = calls_of_a_save();
  int told = 0;
  Crashes crashes(33);
  for (int call = 0; call < calls; ++call) {
    const Path root = fresh();
    SimulatedDisk disk(root, {.fail_at = call, .exchanges = GetParam().exchanges});
    bool failed = false;
    try {
      save(root, disk);
    } catch (const Error& error) {
      failed = true;
      EXPECT_NE(std::string(error.what()).find("free some space"), std::string::npos);
    }
    const bool is_new = expect_old_or_new(root);
    EXPECT_TRUE(failed || is_new) << "call " << call;
    if (HasFailure()) FAIL() << "call " << call << " of " << calls << " failed";
    if (failed) {
      // Its folder is removed at once, not at the next save.
      for (const auto& entry : std::filesystem::directory_iterator(root))
        EXPECT_FALSE(entry.path().filename().string().starts_with('.')) << call << entry.path();
    }
    for (const Tree& state : crashes.fresh(disk, 10)) {
      const Path after = folder() / "after";
      write_tree(state, after);
      expect_old_or_new(after);
      if (HasFailure()) FAIL() << "call " << call << " failed, then the power";
      std::filesystem::remove_all(after);
    }
    expect_next_save_tidies(root);
    told += failed ? 1 : 0;
    std::filesystem::remove_all(root);
  }
  EXPECT_GT(told, calls / 2);
}

/// Ends its process by SIGKILL at a call.
class DeadlyDisk final : public Disk {
 public:
  DeadlyDisk(int call, bool exchanges) : left_(call), exchanges_(exchanges) {}
  std::unique_ptr<DiskFile> create(const Path& path) override {
    count();
    return system_disk().create(path);
  }
  void create_folder(const Path& path) override {
    count();
    system_disk().create_folder(path);
  }
  void sync_folder(const Path& path) override {
    count();
    system_disk().sync_folder(path);
  }
  void rename(const Path& from, const Path& to) override {
    count();
    system_disk().rename(from, to);
  }
  bool exchange(const Path& a, const Path& b) override {
    count();
    return exchanges_ && system_disk().exchange(a, b);
  }
  void remove_all(const Path& path) override {
    count();
    system_disk().remove_all(path);
  }

 private:
  void count() {
    if (left_-- == 0) ::raise(SIGKILL);
  }
  int left_;
  bool exchanges_;
};

TEST_P(Interrupted, KilledProcessLeavesTheOldOrTheNewCheckpoint) {
  bool ended = false;
  for (int call = 0; !ended; ++call) {
    const Path root = fresh();
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      DeadlyDisk disk(call, GetParam().exchanges);
      save(root, disk);
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ended = WIFEXITED(status);
    EXPECT_TRUE(expect_old_or_new(root) || !ended);
    expect_next_save_tidies(root);
    if (HasFailure()) FAIL() << "killed at call " << call;
  }
}

INSTANTIATE_TEST_SUITE_P(Saves, Interrupted,
                         testing::Values(Scenario{"IntoAnEmptyFolder", 0, 100, true},
                                         Scenario{"OfTheNextIteration", 100, 200, true},
                                         Scenario{"OverTheSameIteration", 100, 100, true},
                                         Scenario{"OverTheSameIterationWithoutExchange", 100, 100,
                                                  false}),
                         [](const auto& scenario) { return scenario.param.name; });

}  // namespace
}  // namespace trireme::checkpoint
