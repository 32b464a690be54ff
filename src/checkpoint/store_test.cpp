#include <gtest/gtest.h>

#include <algorithm>

#include "checkpoint/folder.h"
#include "checkpoint/reader.h"
#include "checkpoint/test_folder.h"
#include "checkpoint/tiny_checkpoint.h"
#include "checkpoint/writer.h"
#include "core/error.h"

namespace trireme::checkpoint {
namespace {

using parallel::Slice;
using parallel::Topology;

class Checkpoint : public TestFolder {
 protected:
  Path root_ = folder() / "runs" / "CK";

  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(root_))
      names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }

  [[nodiscard]] std::string refusal(std::optional<int64_t> iteration = {}) const {
    try {
      static_cast<void>(CheckpointReader::open(root_, iteration));
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  }
};

#define EXPECT_SAYS(message, words) EXPECT_NE((message).find(words), std::string::npos) << (message)

TEST_F(Checkpoint, LoadsWhatWasSaved) {
  tiny::save(root_, 100, 1);
  EXPECT_EQ(names(),
            (std::vector<std::string>{"iter_0000100", "latest_checkpointed_iteration.txt"}));
  EXPECT_EQ(read_file(root_ / "latest_checkpointed_iteration.txt"), "100\n");
  CheckpointReader reader = CheckpointReader::open(root_);
  EXPECT_TRUE(reader.has("qkv"));
  EXPECT_TRUE(reader.has("optimizer.exp_avg.qkv"));
  EXPECT_FALSE(reader.has("lm_head"));
  EXPECT_EQ(reader.damages(), std::vector<std::string>{});
  EXPECT_NO_THROW(reader.verify());
  tiny::expect_saved(std::move(reader), 100, 1);
}

TEST_F(Checkpoint, OfAnyLayoutLoadsInAnyOther) {
  std::vector<Topology> layouts;
  for (const int p : {1, 2, 4}) {
    for (const int t : {1, 2, 3, 4, 12}) layouts.emplace_back(p, t, p == 2 ? 2 : 1);
  }
  for (const Topology& saved : layouts) {
    tiny::save(root_, 5, 3, saved);
    EXPECT_EQ(CheckpointReader::open(root_).manifest().run.ranks, saved);
    EXPECT_NO_THROW(CheckpointReader::open(root_).verify());
    for (const Topology& loaded : layouts)
      tiny::expect_saved(CheckpointReader::open(root_), 5, 3, loaded);
  }
}

TEST_F(Checkpoint, OfOneRankHoldsTensorsUnderTheirOwnNames) {
  tiny::save(root_, 100, 1);
  const SafetensorsFile file(root_ / "iter_0000100" / "model-p0-t0.safetensors");
  EXPECT_EQ(file.tensors().size(), 4U);
  EXPECT_EQ(file.tensors()[*file.find("embedding")].shape, (Shape{13, 2}));  // no padding
  EXPECT_EQ(file.metadata().at("format"), "trireme-checkpoint");
}

TEST_F(Checkpoint, OfSliceFilesNamesTheRegionsInThem) {
  tiny::save(root_, 100, 1, Topology(1, 2, 1));
  const SafetensorsFile file(root_ / "iter_0000100" / "model-p0-t1.safetensors");
  EXPECT_TRUE(file.find("qkv[6:12,0:4]"));
  EXPECT_TRUE(file.find("proj[0:2,6:12]"));
  EXPECT_FALSE(file.find("bias"));
}

TEST_F(Checkpoint, WithoutCommitLeavesTheFolderAsItWas) {
  tiny::save(root_, 100, 1);
  {
    CheckpointWriter writer(root_, 200);
    SliceWriter part(writer.folder(), {});
    write_file(writer.folder() / "model.safetensors", "half");
    EXPECT_EQ(names().size(), 3U);
  }
  EXPECT_EQ(names(),
            (std::vector<std::string>{"iter_0000100", "latest_checkpointed_iteration.txt"}));
  tiny::expect_saved(CheckpointReader::open(root_), 100, 1);
}

TEST_F(Checkpoint, IsNotCommittedWhenARankLeftSomethingOut) {
  const Topology topology(1, 2, 1);
  CheckpointWriter writer(root_, 100);
  std::vector<Contents> parts;
  for (int t = 0; t < 2; ++t) {
    const Slice slice = {.offset = {2 * t}, .extent = {2}, .storage = {2}};
    std::vector<SliceToWrite> slices = {{{"w", DType::f32, {4}}, slice, format("model-t{}", t)}};
    if (t == 1) slices.clear();
    SliceWriter part(writer.folder(), slices);
    if (t == 0) part.write(0, std::vector<std::byte>(8));
    parts.push_back(part.finish());
  }
  try {
    writer.commit(tiny::run_state(100, 0, topology), parts);
    FAIL();
  } catch (const Error& error) {
    EXPECT_SAYS(std::string(error.what()), "tensor w: of the 4 elements [0:4] only 2 are stored");
  }
  EXPECT_FALSE(std::filesystem::exists(root_ / "iter_0000100"));
}

TEST_F(Checkpoint, ReplacesOneOfTheSameIteration) {
  tiny::save(root_, 100, 1);
  tiny::save(root_, 100, 2, Topology(1, 2, 1));
  tiny::expect_saved(CheckpointReader::open(root_), 100, 2);
  EXPECT_EQ(names().size(), 2U);
}

TEST_F(Checkpoint, RemovesWhatKilledSavesLeft) {
  tiny::save(root_, 100, 1);
  for (const char* name : {".iter_0000200.tmp-999", ".iter_0000100.tmp-1-discarded"}) {
    std::filesystem::create_directory(root_ / name);
    write_file(root_ / name / "model.safetensors", "half");
  }
  write_file(root_ / ".latest_checkpointed_iteration.txt.tmp-999", "2");
  write_file(root_ / ".mine", "kept");
  write_file(root_ / "notes.txt", "kept");
  EXPECT_EQ(find_whole(root_), (std::vector<int64_t>{100}));
  tiny::save(root_, 200, 2);
  EXPECT_EQ(names(), (std::vector<std::string>{".mine", "iter_0000100", "iter_0000200",
                                               "latest_checkpointed_iteration.txt", "notes.txt"}));
}

TEST_F(Checkpoint, IsReadThroughItsStandInUntilTheNextSave) {
  tiny::save(root_, 100, 1);
  std::filesystem::rename(root_ / "iter_0000100", root_ / ".iter_0000100.old");
  EXPECT_EQ(find_whole(root_), (std::vector<int64_t>{100}));
  tiny::expect_saved(CheckpointReader::open(root_), 100, 1);
  tiny::save(root_, 200, 2);
  EXPECT_EQ(names(), (std::vector<std::string>{"iter_0000100", "iter_0000200",
                                               "latest_checkpointed_iteration.txt"}));
  tiny::expect_saved(CheckpointReader::open(root_, 100), 100, 1);
}

TEST_F(Checkpoint, ThatIsMissingOrDamagedIsRefusedWithTheWholeOnes) {
  EXPECT_SAYS(refusal(), "there is no such folder");
  std::filesystem::create_directories(root_);
  EXPECT_SAYS(refusal(), "no latest_checkpointed_iteration.txt; there is no whole checkpoint");
  EXPECT_FALSE(latest_iteration(root_));
  for (const int64_t iteration : {100, 200, 300}) tiny::save(root_, iteration, 1);
  try {
    require_root(root_ / "iter_0000100/");
    ADD_FAILURE() << "a checkpoint is no folder of checkpoints";
  } catch (const Error& error) {
    EXPECT_SAYS(std::string(error.what()), "give --load " + root_.string() + " --ckpt-step N");
  }
  EXPECT_SAYS(refusal(150), "checkpoint of iteration 150 (chosen) cannot be used");
  EXPECT_SAYS(refusal(150), "--ckpt-step N: 300, 200, 100");
  std::filesystem::remove(root_ / "iter_0000300" / "optimizer-p0-t0.safetensors");
  EXPECT_SAYS(refusal(), "iteration 300 (latest_checkpointed_iteration.txt) cannot be used");
  EXPECT_SAYS(refusal(), "optimizer-p0-t0.safetensors: cannot examine: No such file");
  EXPECT_SAYS(refusal(), "choose a whole one with --ckpt-step N: 200, 100");
  EXPECT_EQ(find_whole(root_), (std::vector<int64_t>{200, 100}));
  EXPECT_EQ(refusal(200), "");
  std::filesystem::remove(root_ / "iter_0000200" / "manifest.json");
  EXPECT_SAYS(refusal(200), "iter_0000200: no manifest.json");
  std::filesystem::remove(root_ / "latest_checkpointed_iteration.txt");
  EXPECT_SAYS(refusal(), "no latest_checkpointed_iteration.txt; choose a whole one");
  for (const char* text : {"", "x", "-1", "1 0", "release", "99999999999999999999"}) {
    replace_file(root_ / "latest_checkpointed_iteration.txt", text);
    EXPECT_SAYS(refusal(), "choose a whole one with --ckpt-step N: 100");
  }
  std::filesystem::rename(root_ / "iter_0000100", root_ / "iter_0000050");
  EXPECT_SAYS(refusal(50), "the folder says iteration 50");
}

TEST_F(Checkpoint, OfMegatronIsNamedAsSuch) {
  std::filesystem::create_directories(root_ / "iter_0000500");
  replace_file(root_ / "iter_0000500" / "metadata.json", "{}");
  replace_file(root_ / "latest_checkpointed_iteration.txt", "500");
  EXPECT_SAYS(refusal(), "Megatron-LM's own checkpoints cannot be read");
}

TEST_F(Checkpoint, OfAnotherModelIsRefusedByTensor) {
  tiny::save(root_, 100, 1);
  CheckpointReader reader = CheckpointReader::open(root_);
  const auto refused = [&](const TensorSpec& wanted) {
    const Region all = whole(wanted.shape);
    const Slice slice = {all.offset, all.extent, all.extent};
    std::vector<std::byte> out(*stored_bytes(wanted.dtype, wanted.shape));
    try {
      reader.read(wanted, slice, out);
      return std::string();
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  EXPECT_EQ(refused({"qkv", DType::f32, {12, 4}}), "");
  EXPECT_SAYS(refused({"qkv", DType::f32, {12, 5}}),
              "tensor qkv: the checkpoint has f32 [12, 4]; this model wants f32 [12, 5]");
  EXPECT_SAYS(refused({"qkv", DType::f16, {12, 4}}), "this model wants f16 [12, 4]");
  EXPECT_SAYS(refused({"qkv", DType::f32, {48}}), "this model wants f32 [48]");
  EXPECT_SAYS(refused({"head", DType::f32, {12}}), "tensor head: not in the checkpoint");
}

TEST_F(Checkpoint, RetentionKeepsTheNewestTheIntervalsAndTheLatest) {
  const std::vector<int64_t> whole = {500, 400, 300, 200, 100};
  using Iterations = std::vector<int64_t>;
  EXPECT_EQ(superfluous(whole, 500, {}), Iterations{});
  EXPECT_EQ(superfluous(whole, 500, {.keep_last = 2}), (Iterations{300, 200, 100}));
  EXPECT_EQ(superfluous(whole, 500, {.keep_last = 1, .loaded = 300}), (Iterations{400, 200, 100}));
  EXPECT_EQ(superfluous(whole, 500, {.keep_last = 1, .retain_interval = 200}),
            (Iterations{300, 100}));
  EXPECT_EQ(superfluous(whole, {}, {.retain_interval = 1000}), (Iterations{400, 300, 200, 100}));
  EXPECT_EQ(superfluous(whole, 500, {.keep_last = 9}), Iterations{});
}

TEST_F(Checkpoint, RetentionLeavesTheCourseThatTheRunTurnedBackFrom) {
  const std::vector<int64_t> whole = {500, 400, 300, 200, 100};
  EXPECT_EQ(superfluous(whole, 300, {.keep_last = 2}), (std::vector<int64_t>{100}));
  EXPECT_EQ(superfluous(whole, 300, {.keep_last = 1, .loaded = 200}), (std::vector<int64_t>{100}));
}

TEST_F(Checkpoint, RetentionRemovesFoldersAndSparesDamagedOnes) {
  for (const int64_t iteration : {100, 200, 300, 400}) tiny::save(root_, iteration, 1);
  std::filesystem::remove(root_ / "iter_0000200" / "manifest.json");
  EXPECT_EQ(apply_retention(root_, {.keep_last = 1}), (std::vector<int64_t>{300, 100}));
  EXPECT_EQ(names(), (std::vector<std::string>{"iter_0000200", "iter_0000400",
                                               "latest_checkpointed_iteration.txt"}));
}

// As where another host wrote into a folder of its own under the same name.
TEST_F(Checkpoint, IsNotCommittedWithoutTheFilesOfAllRanks) {
  tiny::save(root_, 100, 1);
  for (const bool there : {true, false}) {
    CheckpointWriter writer(root_, 200);
    std::vector<SliceToWrite> slices;
    for (const tiny::Held& held : tiny::held_by({}, {})) slices.push_back(held.slice);
    SliceWriter part(writer.folder(), slices);
    for (size_t i = 0; i < slices.size(); ++i)
      part.write(i, tiny::bytes_of_slice(slices[i].tensor, slices[i].slice, 1, std::byte{0}));
    const std::vector<Contents> parts = {part.finish()};
    const Path file = writer.folder() / "model-p0-t0.safetensors";
    std::filesystem::remove(file);
    if (there) replace_file(file, "short");
    try {
      writer.commit(tiny::run_state(200, 1), parts);
      FAIL();
    } catch (const Error& error) {
      EXPECT_SAYS(std::string(error.what()), there ? "5 bytes, saved as" : "cannot examine");
    }
  }
  EXPECT_EQ(names(),
            (std::vector<std::string>{"iter_0000100", "latest_checkpointed_iteration.txt"}));
  tiny::expect_saved(CheckpointReader::open(root_), 100, 1);
}

TEST_F(Checkpoint, IntoAFolderThatCannotBeMadeSaysSo) {
  replace_file(folder() / "file", "");
  try {
    const CheckpointWriter writer(folder() / "file" / "CK", 1);
    FAIL();
  } catch (const Error& error) {
    EXPECT_SAYS(std::string(error.what()), "file/CK");
  }
}

}  // namespace
}  // namespace trireme::checkpoint
