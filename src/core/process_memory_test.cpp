#include "core/process_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>

namespace trireme {
namespace {

TEST(ProcessMemory, IsTheSumOfAnonymousAndSharedPages) {
  EXPECT_EQ(process_memory_of("Name:\tx\nVmRSS:\t  99 kB\nRssAnon:\t   12 kB\nRssFile:\t   70 kB\n"
                              "RssShmem:\t    3 kB\n"),
            15 * 1024);
  for (const char* text : {"", "Name:\tx\n", "\nRssAnon:\t 1 kB\n",
                           "\nRssAnon:\n\nRssShmem:", "\nRssAnon: x\nRssShmem: 1 kB"})
    EXPECT_EQ(process_memory_of(text), std::nullopt) << text;
}

TEST(ProcessMemory, GrowsByWhatIsTouched) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer keeps books of each byte";
#endif
  constexpr size_t kBytes = size_t{32} << 20;
  void* memory =
      ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  const int64_t before = process_memory().value();
  std::memset(memory, 1, kBytes);
  const int64_t after = process_memory().value();
  EXPECT_NEAR(static_cast<double>(after - before), kBytes, 4 << 20);
  ::munmap(memory, kBytes);
}

}  // namespace
}  // namespace trireme
