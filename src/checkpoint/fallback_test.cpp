#include "checkpoint/fallback.h"

#include <gtest/gtest.h>

#include "checkpoint/folder.h"
#include "checkpoint/test_folder.h"
#include "checkpoint/tiny_checkpoint.h"
#include "core/error.h"

namespace trireme::checkpoint {
namespace {

class Fallback : public TestFolder {
 protected:
  Fallback() {
    for (const int64_t iteration : {100, 200, 300}) tiny::save(root_, iteration, 1);
  }

  /// Changes one bit behind the header of a file.
  void damage(int64_t iteration, const std::string& name) const {
    const Path file = root_ / iteration_name(iteration) / name;
    std::string content = read_file(file);
    content.back() = static_cast<char>(content.back() ^ 4);
    replace_file(file, content);
  }
  /// Takes the newest whole one, which is that of the iteration; what was passed over, by lines.
  [[nodiscard]] std::string expect_takes(int64_t iteration) const {
    NewestWhole found = open_newest_whole(root_);
    tiny::expect_saved(std::move(found.reader), iteration, 1);
    std::string lines;
    for (const std::string& message : found.passed_over) lines += message + "\n";
    return lines;
  }

  Path root_ = folder() / "CK";
};

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST_F(Fallback, TakesTheLatestWithoutAWordWhereItIsWhole) {
  EXPECT_EQ(expect_takes(300), "");
  set_latest(root_, 200);
  EXPECT_EQ(expect_takes(200), "");
}

TEST_F(Fallback, PassesOverDamageAndNamesFileAndTensor) {
  damage(300, "optimizer-p0-t0.safetensors");
  const std::string one = expect_takes(200);
  EXPECT_HAS(one, "optimizer-p0-t0.safetensors: tensor optimizer.exp_avg.bias: damaged");
  std::filesystem::remove(root_ / "iter_0000200" / "model-p0-t0.safetensors");
  const std::string two = expect_takes(100);
  EXPECT_HAS(two, one);
  EXPECT_HAS(two, "iter_0000200/model-p0-t0.safetensors: cannot examine: No such file");
}

TEST_F(Fallback, PassesOverALatestThatIsGone) {
  std::filesystem::remove_all(root_ / "iter_0000300");
  EXPECT_HAS(expect_takes(200), "iter_0000300: there is no such checkpoint");
}

TEST_F(Fallback, FindsTheNewestWhereTheNameOfTheLatestIsLost) {
  std::filesystem::remove(root_ / "latest_checkpointed_iteration.txt");
  EXPECT_EQ(expect_takes(300), "there is no latest_checkpointed_iteration.txt\n");
  replace_file(root_ / "latest_checkpointed_iteration.txt", "3OO");
  EXPECT_HAS(expect_takes(300), "latest_checkpointed_iteration.txt: not the number");
}

TEST_F(Fallback, StaysOnTheCourseOfTheLatestAsLongAsItCan) {
  set_latest(root_, 200);
  damage(200, "model-p0-t0.safetensors");
  EXPECT_HAS(expect_takes(100), "iter_0000200");
  damage(100, "model-p0-t0.safetensors");
  EXPECT_HAS(expect_takes(300), "iter_0000100");
}

TEST_F(Fallback, RefusesWithAllThatIsWrongWhereNothingIsWhole) {
  for (const int64_t iteration : {100, 200, 300}) damage(iteration, "model-p0-t0.safetensors");
  try {
    static_cast<void>(open_newest_whole(root_));
    FAIL();
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_HAS(message, "there is no whole checkpoint in this folder");
    for (const char* name : {"iter_0000100", "iter_0000200", "iter_0000300"})
      EXPECT_HAS(message, name);
  }
  EXPECT_THROW(static_cast<void>(open_newest_whole(folder() / "nowhere")), Error);
}

}  // namespace
}  // namespace trireme::checkpoint
