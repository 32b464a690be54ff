#pragma once
// For the tests of this room.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "core/file.h"

namespace trireme::checkpoint {

/// A folder that goes away with the test.
class TestFolder : public testing::Test {
 protected:
  // In memory where there is such a place: the tests write thousands of files.
  TestFolder() {
    const std::string parent =
        ::access("/dev/shm", W_OK) == 0 ? std::string("/dev/shm/") : testing::TempDir();
    std::string pattern = parent + "trireme-checkpoint-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  ~TestFolder() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] const Path& folder() const { return folder_; }

 private:
  Path folder_;
};

/// Without the care of write_file: damage need not be durable.
inline void replace_file(const Path& path, const std::string& content) {
  std::filesystem::remove(path);  // file systems may sync a file that is cut to nothing
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

}  // namespace trireme::checkpoint
