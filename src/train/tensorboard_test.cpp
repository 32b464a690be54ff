#include "train/tensorboard.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstring>

namespace trireme::train {
namespace {

TEST(EventFile, HasTheChecksumOfItsPublishedTestVector) {
  EXPECT_EQ(crc32c("123456789"), 0xE3069283);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AA);  // RFC 3720, B.4
  EXPECT_EQ(crc32c(""), 0U);
}

// Bytes of a step as protoc's own encoder gives them (tools/tensorboard_check.py prints them).
TEST(EventFile, HasTheWireFormatOfProtobuf) {
  const std::array<std::pair<std::string_view, double>, 1> scalars = {{{"lm loss", 2.5}}};
  const std::string event = event_message(1.5, 300, scalars);
  const std::string expected(
      "\x09\x00\x00\x00\x00\x00\x00\xf8\x3f"  // wall_time
      "\x10\xac\x02"                          // step
      "\x2a\x10\x0a\x0e"                      // summary, value
      "\x0a\x07lm loss"                       // tag
      "\x15\x00\x00\x20\x40",                 // simple_value
      9 + 3 + 4 + 9 + 5);
  EXPECT_EQ(event, expected);
}

// Reads the records of a file as the format says, checking lengths and checksums.
std::vector<std::string> records_of(const std::string& file) {
  std::vector<std::string> records;
  for (size_t at = 0; at < file.size();) {
    uint64_t length = 0;
    std::memcpy(&length, file.data() + at, 8);
    const std::string content = file.substr(at + 12, length);
    EXPECT_EQ(file.substr(at, 12 + length + 4), event_record(content));
    records.push_back(content);
    at += 12 + length + 4;
  }
  return records;
}

TEST(EventFile, HasAVersionThenTheScalarsOfEveryStepByIterationAndBySamples) {
  const Path folder =
      Path(testing::TempDir()) / ("tensorboard-" + std::to_string(::getpid())) / "made";
  {
    TensorBoardFile file(folder);
    file.step({.iteration = 7, .consumed_samples = 56, .loss = 3, .seconds = 0.5, .flops = 1e9},
              {.train_iterations = 10, .peak_flops = 4e9});
    file.validation(7, 56, 2);
  }
  std::vector<Path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    files.push_back(entry.path());
  ASSERT_EQ(files.size(), 1U);
  EXPECT_EQ(files[0].filename().string().rfind("events.out.tfevents.", 0), 0U);
  const auto records = records_of(read_file(files[0]));
  ASSERT_EQ(records.size(), 5U);
  EXPECT_NE(records[0].find("brain.Event:2"), std::string::npos);
  EXPECT_NE(records[1].find("lm loss"), std::string::npos);
  EXPECT_NE(records[2].find("lm loss vs samples"), std::string::npos);
  EXPECT_NE(records[3].find("lm loss validation ppl"), std::string::npos);
  EXPECT_NE(records[4].find("validation vs samples"), std::string::npos);
  std::filesystem::remove_all(folder.parent_path());
}

}  // namespace
}  // namespace trireme::train
