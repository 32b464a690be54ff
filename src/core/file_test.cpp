#include "core/file.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>

#include "core/error.h"
#include "core/mapped_file.h"

namespace trireme {
namespace {

class FileTest : public testing::Test {
 protected:
  FileTest() {
    std::string pattern = testing::TempDir() + "trireme-file-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  Path folder_;
};

size_t entries(const Path& folder) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

TEST_F(FileTest, AtomicFileAppearsWholeAtCommit) {
  const Path path = folder_ / "a";
  const std::string big(3 << 20, 'x');
  {
    AtomicFile file(path);
    file.write("head ");
    file.write(big);
    EXPECT_FALSE(std::filesystem::exists(path));
    EXPECT_EQ(file.bytes_written(), big.size() + 5);
    file.commit();
  }
  EXPECT_EQ(read_file(path), "head " + big);
  EXPECT_EQ(entries(folder_), 1U);
}

TEST_F(FileTest, AtomicFileWithoutCommitLeavesTheOldFile) {
  const Path path = folder_ / "a";
  write_file(path, "old");
  { AtomicFile(path).write("new"); }
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(entries(folder_), 1U);
}

TEST_F(FileTest, MissingFileNamesPathAndReason) {
  try {
    static_cast<void>(read_file(folder_ / "nothing"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("nothing"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("No such file"), std::string::npos);
    EXPECT_EQ(error.exit_status(), 1);
  }
  EXPECT_THROW(MappedFile(folder_ / "nothing"), Error);
  EXPECT_THROW(MappedFile{folder_}, Error);
}

TEST_F(FileTest, AMappedFileThatIsShortenedEndsTheProgramWithItsName) {
  write_file(folder_ / "shrinks", std::string(20000, 'x'));
  EXPECT_EXIT(
      {
        const MappedFile file(folder_ / "shrinks");
        std::filesystem::resize_file(folder_ / "shrinks", 0);
        volatile std::byte last = file.bytes().back();
        static_cast<void>(last);
      },
      testing::ExitedWithCode(1), "shrinks: no data where there was some when it was opened");
}

TEST_F(FileTest, MappedFileShowsTheBytes) {
  write_file(folder_ / "a", "bytes");
  const MappedFile file(folder_ / "a");
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()),
            "bytes");
  write_file(folder_ / "empty", "");
  EXPECT_TRUE(MappedFile(folder_ / "empty").bytes().empty());
}

TEST_F(FileTest, InputFileReadsFromFrontToEnd) {
  const std::string content = "first second";
  write_file(folder_ / "a", content);
  InputFile file(folder_ / "a");
  EXPECT_EQ(file.size(), content.size());
  std::string read;
  std::array<char, 5> piece = {};
  while (const size_t got = file.read(piece)) read.append(piece.data(), got);
  EXPECT_EQ(read, content);
  EXPECT_THROW(InputFile{folder_}, Error);
  EXPECT_THROW(InputFile(folder_ / "nothing"), Error);
}

TEST_F(FileTest, WhatAKilledWriterLeftIsRemovedAndWhatALivingOneWritesIsNot) {
  const auto temporary_files = [&] {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_))
      count += entry.path().filename().string().find(".tmp-") != std::string::npos ? 1 : 0;
    return count;
  };
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    AtomicFile file(folder_ / "x");
    file.write(std::string(3 << 20, 'x'));
    ::raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(temporary_files(), 1);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "x"));
  {
    const AtomicFile living(folder_ / "x");
    EXPECT_EQ(temporary_files(), 1) << "its own";
    // Another process that writes the same file leaves it alone.
    const pid_t other = ::fork();
    ASSERT_GE(other, 0);
    if (other == 0) {
      { const AtomicFile second(folder_ / "x"); }
      std::_Exit(0);
    }
    ASSERT_EQ(::waitpid(other, &status, 0), other);
    EXPECT_EQ(temporary_files(), 1);
  }
  EXPECT_EQ(temporary_files(), 0);
}

TEST_F(FileTest, FullDiskIsToldAndLeavesNothing) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  std::filesystem::create_symlink("/dev/full", folder_ / ("x.tmp-" + std::to_string(::getpid())));
  AtomicFile file(folder_ / "x");
  try {
    file.write(std::string(2 << 20, 'x'));
    file.commit();
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("No space left"), std::string::npos);
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "x"));
}

TEST(Checksum, IsStableAndSeesEveryByte) {
  const auto of = [](std::string_view text) { return checksum(std::as_bytes(std::span(text))); };
  EXPECT_EQ(of(""), "2d06800538d394c2");  // XXH3 of nothing, seed 0, as published
  EXPECT_NE(of("abc"), of("abd"));
}

}  // namespace
}  // namespace trireme
