// `trireme schedule` as its users meet it.

#include "app/run_fixture.h"

namespace trireme::app {
namespace {

class ScheduleCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / format("trireme-schedule-{}", ::getpid());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] Path file() const { return folder_ / "schedule.txt"; }
  static Outcome schedule(const std::string& arguments) {
    return shell("'" TRIREME_PROGRAM "' schedule " + arguments + " 2>&1");
  }
  // A file of two ranks, one chunk and two microbatches.
  Outcome check(const std::string& first, const std::string& second) {
    write_file(file(), format("trireme-pipeline 1 stages 2 microbatches 2 chunks 1\nrank 0\n{}\n"
                              "rank 1\n{}\n",
                              first, second));
    return schedule("--schedule-file " + file().string());
  }

  Path folder_;
};

TEST_F(ScheduleCommand, ReadsWhatItHasWritten) {
  for (const std::string sizes :
       {"--schedule gpipe", "--schedule 1f1b --num-microbatches 3",
        "--num-virtual-stages-per-pipeline-rank 2",
        "--schedule forward-only --num-virtual-stages-per-pipeline-rank 3"}) {
    ASSERT_EQ(schedule(sizes + " --output " + file().string()).status, 0);
    const Outcome again = schedule("--schedule-file " + file().string() + " --output " +
                                   (folder_ / "again.txt").string());
    EXPECT_EQ(again.status, 0) << again.text;
    EXPECT_TRUE(contains(again.text, "is a valid schedule")) << again.text;
    EXPECT_EQ(read_file(file()), read_file(folder_ / "again.txt")) << sizes;
  }
}

TEST_F(ScheduleCommand, IsInterleavedWhereThereAreChunks) {
  const std::string chunks = "--num-virtual-stages-per-pipeline-rank 2";
  EXPECT_EQ(schedule(chunks).text, schedule("--schedule interleaved " + chunks).text);
  EXPECT_EQ(schedule("").text, schedule("--schedule 1f1b").text);
  EXPECT_NE(schedule("").text, schedule(chunks).text);
}

TEST_F(ScheduleCommand, SaysWhichOptionToGiveInstead) {
  const std::string chunks = "--num-virtual-stages-per-pipeline-rank 2 ";
  const std::string group = "--microbatch-group-size-per-virtual-pipeline-stage ";
  for (const auto& [wrong, remedy] : std::vector<std::pair<std::string, std::string>>{
           {chunks + "--num-microbatches 6", "use --num-microbatches 4 or 8, or --schedule gpipe"},
           {chunks + "--schedule 1f1b", "use --schedule interleaved or gpipe"},
           {"--schedule interleaved", "use " + chunks.substr(0, chunks.size() - 1)},
           {chunks + group + "3", "use " + group + "4"},
           {chunks + group + "9", "use " + group + "8"},
           {chunks + group + "4 --num-microbatches 2", "use --num-microbatches 4"}}) {
    const Outcome outcome = schedule(wrong);
    EXPECT_EQ(outcome.status, 2) << wrong;
    EXPECT_TRUE(contains(outcome.text, remedy)) << outcome.text;
  }
}

TEST_F(ScheduleCommand, SaysBubbleAndWhatIsInFlight) {
  const Outcome outcome =
      schedule("--schedule interleaved --num-virtual-stages-per-pipeline-rank 2");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_TRUE(contains(outcome.text, "bubble 18.75% of the ideal time; (p - 1)/(v m) = 18.75%"))
      << outcome.text;
  EXPECT_TRUE(contains(outcome.text, "# 0                   11 ")) << outcome.text;
}

TEST_F(ScheduleCommand, ShowsADeadlockAsItsCycle) {
  const Outcome outcome = check("0F0 0B0 0F1 0B1", "0F0 0F1 0B0 0B1");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_TRUE(contains(outcome.text, "deadlock")) << outcome.text;
  EXPECT_TRUE(contains(outcome.text, "rank 0 0F1 comes behind rank 0 0B0")) << outcome.text;
}

TEST_F(ScheduleCommand, SaysWhereTheOrderOfSumsDiffers) {
  const Outcome outcome = check("0F0 0F1 0B1 0B0", "0F0 0F1 0B1 0B0");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_TRUE(contains(outcome.text, "rank 0 adds the gradients of chunk 0 in another order"))
      << outcome.text;
}

TEST_F(ScheduleCommand, RefusesWhatHasNoEffectOrIsImpossible) {
  for (const std::string wrong :
       {"--schedule-file x --num-microbatches 2", "--schedule interleaved",
        "--microbatch-group-size-per-virtual-pipeline-stage 8",
        "--schedule interleaved --num-virtual-stages-per-pipeline-rank 2 --num-microbatches 6",
        "--schedule gpipe --pipeline-model-parallel-size 4096 --num-microbatches 1000000",
        "--schedule zigzag"}) {
    EXPECT_EQ(schedule(wrong).status, 2) << wrong;
  }
  EXPECT_EQ(schedule("--schedule-file " + file().string()).status, 1);
}

}  // namespace
}  // namespace trireme::app
