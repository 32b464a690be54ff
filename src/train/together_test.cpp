#include "train/together.h"

#include <gtest/gtest.h>

#include "comm/local/run.h"
#include "core/error.h"
#include "core/format.h"
#include "device/cpu/cpu_device.h"

namespace trireme::train {
namespace {

// What each rank hears when all do their part; behind it they are in step again.
std::vector<std::string> heard(int ranks, const std::function<std::string(int rank)>& part) {
  std::vector<std::string> messages(static_cast<size_t>(ranks));
  comm::run_ranks({.ranks = ranks}, [&](comm::Port& port) {
    device::CpuDevice device(1);
    const auto stream = device.make_stream();
    const World world = {port.world(), *stream};
    try {
      for (const std::string& text : together(world, [&] { return part(port.rank()); }))
        messages[static_cast<size_t>(port.rank())] += text + ",";
    } catch (const Error& error) {
      messages[static_cast<size_t>(port.rank())] = text_of(error.trouble());
    }
    EXPECT_EQ(together(world, [] { return std::string("next"); }),
              std::vector<std::string>(static_cast<size_t>(ranks), "next"));
    port.finish(*stream);
  });
  return messages;
}

TEST(Together, TellsAllWhatEveryPartCameTo) {
  for (const int ranks : {1, 2, 5}) {
    std::string all;
    for (int rank = 0; rank < ranks; ++rank) all += std::to_string(rank) + '\0' + ",";
    for (const std::string& message :
         heard(ranks, [&](int rank) { return std::to_string(rank) + '\0'; }))
      EXPECT_EQ(message, all);
  }
}

TEST(Together, FailsOnAllRanksWithTheWordsOfTheFirstThatFailed) {
  const auto messages = heard(6, [](int rank) -> std::string {
    if (rank == 2 || rank >= 4) {
      fail({.where = format("file-{}", rank),
            .what = "no room",
            .rule = "a file needs room",
            .remedy = "make some"});
    }
    return "";
  });
  for (const std::string& message : messages) {
    EXPECT_EQ(message,
              "rank 2: file-2: no room (ranks 4-5 failed, too); a file needs room; make some");
  }
}

TEST(Together, LeavesTheErrorOfARankAloneAsItIs) {
  const auto messages = heard(1, [](int) -> std::string { fail_usage({.what = "no"}); });
  EXPECT_EQ(messages.front(), "no");
}

TEST(Together, KeepsTheKindOfAnError) {
  comm::run_ranks({.ranks = 2}, [&](comm::Port& port) {
    device::CpuDevice device(1);
    const auto stream = device.make_stream();
    try {
      together({port.world(), *stream}, [&]() -> std::string {
        if (port.rank() == 1) fail_usage({.what = "no such option"});
        return "";
      });
      FAIL() << "rank 1 failed";
    } catch (const Error& error) {
      EXPECT_EQ(error.exit_status(), 2);
    }
    port.finish(*stream);
  });
}

}  // namespace
}  // namespace trireme::train
