#include "data/index_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <numeric>
#include <thread>

#include "data/test_dataset.h"

namespace trireme::data {
namespace {

using std::chrono::milliseconds;

class IndexCacheTest : public FolderTest {
 protected:
  IndexCacheTest() {
    for (int32_t i = 0; i < 500; ++i) lengths_.push_back(i % 37);
    const int64_t tokens = std::accumulate(lengths_.begin(), lengths_.end(), int64_t{0});
    plan_ = plan_index({3, 503}, tokens, {9, 1500, 77});
    identity_ = identity_of(plan_, lengths_);
    file_ = folder_ / identity_.file_name();
  }
  SampleIndex build() {
    ++builds_;
    return build_sample_index(plan_, lengths_, pool_);
  }
  SampleIndex get(milliseconds patience = milliseconds(10000)) {
    return IndexCache(folder_, patience)
        .get(
            identity_, [this] { return build(); }, pool_);
  }
  static std::string bytes_of(const SampleIndex& index) {
    const auto bytes = index.bytes();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  std::vector<int32_t> lengths_;
  IndexPlan plan_;
  IndexIdentity identity_;
  Path file_;
  ThreadPool pool_{2};
  int builds_ = 0;
};

TEST_F(IndexCacheTest, IsBuiltOnceAndReadAfterwards) {
  const std::string built = bytes_of(build());
  builds_ = 0;
  EXPECT_EQ(bytes_of(get()), built);
  EXPECT_EQ(builds_, 1);
  EXPECT_EQ(bytes_of(get()), built);
  EXPECT_EQ(builds_, 1);
  EXPECT_EQ(names(), (std::vector<std::string>{identity_.file_name()}));  // no lock is left
}

TEST_F(IndexCacheTest, AnIndexOutlivesItsFile) {
  const SampleIndex index = get();
  const std::string before = bytes_of(index);
  std::filesystem::remove(file_);
  EXPECT_EQ(bytes_of(index), before);
}

TEST_F(IndexCacheTest, WhatTheIndexDependsOnIsInItsName) {
  const auto name = [&](auto change) {
    IndexIdentity other = identity_;
    change(other);
    return other.file_name();
  };
  const std::vector<std::string> others = {
      name([](IndexIdentity& i) {
        i.plan.range = {2, 502};
      }),
      name([](IndexIdentity& i) { i.plan.sequence_length += 1; }),
      name([](IndexIdentity& i) { i.plan.seed += 1; }),
      name([](IndexIdentity& i) { i.plan.epochs.epochs += 1; }),
      name([](IndexIdentity& i) { i.plan.epochs.separate_last_epoch ^= true; }),
      name([](IndexIdentity& i) { i.plan.epochs.samples_before_last += 1; }),
      name([](IndexIdentity& i) { i.plan.tokens_per_epoch += 1; }),
      name([](IndexIdentity& i) { i.lengths[3] = i.lengths[3] == '0' ? '1' : '0'; }),
  };
  for (const std::string& other : others) EXPECT_NE(other, identity_.file_name());
  std::vector<int32_t> lengths = lengths_;
  std::swap(lengths[1], lengths[2]);  // the same tokens in all
  EXPECT_NE(identity_of(plan_, lengths).file_name(), identity_.file_name());
}

TEST_F(IndexCacheTest, EveryDamageIsSeen) {
  static_cast<void>(get());
  const std::string whole = read_file(file_);
  std::vector<std::string> damaged = {"",
                                      "x",
                                      whole.substr(0, 100),
                                      whole.substr(0, 136),
                                      whole.substr(0, whole.size() - 1),
                                      whole + "x"};
  for (size_t at = 0; at < whole.size(); at += at < 136 ? 1 : 97) {
    damaged.push_back(whole);
    damaged.back()[at] = static_cast<char>(damaged.back()[at] ^ 0x10);
  }
  for (const std::string& bytes : damaged) {
    write_quickly(file_, bytes);
    EXPECT_TRUE(contains(error_of([&] { static_cast<void>(read_index_file(file_, pool_)); }),
                         file_.string()));
  }
}

TEST_F(IndexCacheTest, ADamagedFileIsBuiltAnewWithAWarning) {
  const std::string built = bytes_of(get());
  const std::string whole = read_file(file_);
  for (const size_t at : {size_t{3}, size_t{20}, size_t{130}, whole.size() - 1}) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    write_quickly(file_, bytes);
    builds_ = 0;
    testing::internal::CaptureStderr();
    EXPECT_EQ(bytes_of(get()), built);
    EXPECT_TRUE(contains(testing::internal::GetCapturedStderr(), "it is built anew"));
    EXPECT_EQ(builds_, 1);
    EXPECT_EQ(read_file(file_), whole);
  }
}

TEST_F(IndexCacheTest, AFileUnderAnothersNameIsNotTrusted) {
  const std::string built = bytes_of(get());
  IndexIdentity other = identity_;
  other.plan.seed = 78;
  write_index_file(file_, other, build_sample_index(other.plan, lengths_, pool_), pool_);
  testing::internal::CaptureStderr();
  EXPECT_EQ(bytes_of(get()), built);
  EXPECT_TRUE(contains(testing::internal::GetCapturedStderr(), "another dataset or order"));
}

TEST_F(IndexCacheTest, NumbersThatPointNowhereAreRefusedInSpiteOfTheirChecksum) {
  const IndexLayout layout(plan_);
  for (const auto& [offset, width] : std::vector<std::pair<int64_t, size_t>>{
           {8, 4}, {layout.points + 16, 8}, {layout.order + 12, 4}}) {
    const SampleIndex good = build();
    const std::shared_ptr<std::byte> arrays(new std::byte[static_cast<size_t>(layout.bytes)],
                                            std::default_delete<std::byte[]>());
    std::copy(good.bytes().begin(), good.bytes().end(), arrays.get());
    std::fill_n(arrays.get() + offset, width, std::byte{0x7f});
    write_index_file(file_, identity_, SampleIndex(plan_, arrays), pool_);
    EXPECT_NE(error_of([&] { static_cast<void>(read_index_file(file_, pool_)); }), "") << offset;
  }
}

TEST_F(IndexCacheTest, OneOfManyBuildsAndAllHaveTheSame) {
  const std::string built = bytes_of(build());
  std::atomic<int> builds = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&] {
      ThreadPool pool(1);
      const SampleIndex index = IndexCache(folder_).get(
          identity_,
          [&] {
            ++builds;
            std::this_thread::sleep_for(milliseconds(100));
            return build_sample_index(plan_, lengths_, pool);
          },
          pool);
      EXPECT_EQ(bytes_of(index), built);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(builds, 1);
  EXPECT_EQ(names(), (std::vector<std::string>{identity_.file_name()}));
}

TEST_F(IndexCacheTest, OneOfManyProcessesBuildsAndAllHaveTheSame) {
  const std::string built = bytes_of(build());
  const Path log = Path(folder_) += "-builds";  // a byte for each build
  write_quickly(log, "");
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) {
    children.push_back(::fork());
    ASSERT_GE(children.back(), 0);
    if (children.back() > 0) continue;
    ThreadPool pool(1);
    const SampleIndex index = IndexCache(folder_).get(
        identity_,
        [&] {
          const int descriptor = ::open(log.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
          if (::write(descriptor, "b", 1) != 1) ::_exit(2);
          std::this_thread::sleep_for(milliseconds(100));
          return build_sample_index(plan_, lengths_, pool);
        },
        pool);
    ::_exit(bytes_of(index) == built ? 0 : 1);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  EXPECT_EQ(read_file(log), "b");
  EXPECT_EQ(names(), (std::vector<std::string>{identity_.file_name()}));
  std::filesystem::remove(log);
}

TEST_F(IndexCacheTest, WaitsNoLongerThanItsPatienceAndNamesTheHolder) {
  const Path lock = Path(file_) += ".lock";
  write_quickly(lock, "process 123 on elsewhere");
  const int descriptor = ::open(lock.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(::flock(descriptor, LOCK_EX), 0);
  const std::string error = error_of([&] { static_cast<void>(get(milliseconds(60))); });
  EXPECT_TRUE(contains(error, "process 123 on elsewhere has been building it")) << error;
  EXPECT_TRUE(contains(error, identity_.file_name())) << error;
  ::close(descriptor);
  static_cast<void>(get());  // and goes on when the holder is gone
  EXPECT_EQ(builds_, 1);
}

TEST_F(IndexCacheTest, ABuilderThatIsKilledLeavesNothingInTheWay) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // In the child: hold the lock, leave a half-written file, die.
    const Path lock = Path(file_) += ".lock";
    const int descriptor = ::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    const Path half = Path(file_) += ".tmp-1";
    const int other = ::open(half.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (::flock(descriptor, LOCK_EX) != 0 || ::write(other, "half", 4) != 4) ::_exit(1);
    ::raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  static_cast<void>(get());
  EXPECT_EQ(builds_, 1);
  EXPECT_EQ(names(), (std::vector<std::string>{identity_.file_name()}));
}

TEST_F(IndexCacheTest, AFailedBuildIsToldAndLeavesNoLock) {
  const std::string error = error_of([&] {
    static_cast<void>(IndexCache(folder_).get(
        identity_, []() -> SampleIndex { fail({.where = "here", .what = "no luck"}); }, pool_));
  });
  EXPECT_TRUE(contains(error, "no luck"));
  EXPECT_TRUE(names().empty());
}

TEST_F(IndexCacheTest, AFolderThatCannotBeIsRefused) {
  write_quickly(folder_ / "file", "");
  EXPECT_NE(error_of([&] { IndexCache(folder_ / "file" / "cache"); }), "");
}

}  // namespace
}  // namespace trireme::data
