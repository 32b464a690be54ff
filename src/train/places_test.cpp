#include "train/places.h"

#include <gtest/gtest.h>

#include "checkpoint/folder.h"
#include "checkpoint/probe.h"
#include "checkpoint/test_folder.h"
#include "comm/local/run.h"
#include "core/error.h"
#include "device/cpu/cpu_device.h"

namespace trireme::train {
namespace {

class Places : public checkpoint::TestFolder {
 protected:
  // What each rank hears where rank r sees folders[r] under the name of --save.
  static std::vector<std::string> heard(const std::vector<Path>& folders) {
    std::vector<std::string> messages(folders.size());
    comm::run_ranks({.ranks = static_cast<int>(folders.size())}, [&](comm::Port& port) {
      device::CpuDevice device(1);
      const auto stream = device.make_stream();
      const auto rank = static_cast<size_t>(port.rank());
      try {
        require_one_folder({port.world(), *stream}, folders[rank], 0.1);
      } catch (const Error& error) {
        messages[rank] = text_of(error.trouble());
      }
      port.finish(*stream);
    });
    return messages;
  }
  [[nodiscard]] Path made(const char* name) const {
    make_folder(folder() / name);
    return folder() / name;
  }
};

TEST_F(Places, OfAllRanksMayBeOneFolder) {
  const Path one = made("one");
  for (const std::string& message : heard({one, one, one})) EXPECT_EQ(message, "");
  EXPECT_TRUE(std::filesystem::is_empty(one));
}

TEST_F(Places, AreRefusedOnAllRanksWhereSomeSeeAnotherFolder) {
  const Path one = made("one");
  const Path two = made("two");
  for (const std::string& message : heard({one, one, two, folder() / "none"})) {
    EXPECT_NE(message.find("ranks 2-3 do not see the folder in which the first rank made a file; a "
                           "checkpoint is one folder, into which all ranks write"),
              std::string::npos)
        << message;
  }
  EXPECT_NE(heard({one, two, one})[2].find("rank 1 does not see"), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_empty(one));
}

TEST_F(Places, AreTidiedOfAProbeThatAKilledRunLeft) {
  std::string left;
  {
    const checkpoint::Probe probe(folder());
    left = probe.mark();
    EXPECT_TRUE(checkpoint::sees(folder(), left, 0));
    const checkpoint::Probe other(folder());
    EXPECT_NE(other.mark(), left);
  }
  EXPECT_FALSE(checkpoint::sees(folder(), left, 0));
  write_file(folder() / left, "");
  checkpoint::clean_up(folder());
  EXPECT_TRUE(std::filesystem::is_empty(folder()));
}

}  // namespace
}  // namespace trireme::train
