#include "train/record_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>

namespace trireme::train {
namespace {

/// A disk that has room for files of so many bytes only, as long as it lives.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    handler_ = ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_ = {};
  void (*handler_)(int) = nullptr;
};

class RecordFileTest : public testing::Test {
 protected:
  ~RecordFileTest() override { std::filesystem::remove(path_); }
  Path path_ = Path(testing::TempDir()) / ("records-" + std::to_string(::getpid()));
};

TEST_F(RecordFileTest, HasEachRecordWholeOrNotAtAllWhereTheDiskIsFull) {
  const std::string first(4080, '1');  // what is told has room in a file as well
  write_file(path_, first);
  RecordFile file(path_);
  EXPECT_TRUE(file.append("second\n"));
  testing::internal::CaptureStderr();
  {
    const FullDisk full(4096);
    EXPECT_FALSE(file.append("a third that is cut\n"));
    EXPECT_EQ(read_file(path_), first + "second\n");
    EXPECT_FALSE(file.append("a fourth, cut as well\n"));
  }
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_NE(told.find(path_.string() + ": cannot write a record: File too large"),
            std::string::npos)
      << told;
  EXPECT_EQ(told.find("cannot write"), told.rfind("cannot write")) << "told once";
  EXPECT_TRUE(file.append("fifth\n"));
  EXPECT_EQ(read_file(path_), first + "second\nfifth\n");
}

}  // namespace
}  // namespace trireme::train
