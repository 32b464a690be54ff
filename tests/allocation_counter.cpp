#include "allocation_counter.h"

#include <execinfo.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <iostream>
#include <new>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TRIREME_TEST_SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define TRIREME_TEST_SANITIZED
#endif
#endif

namespace trireme::testing_memory {
namespace {

std::atomic<bool> counting = false;
std::atomic<int64_t> news = 0;
std::atomic<int64_t> maps = 0;
std::atomic<int64_t> mallocs = 0;
std::atomic<bool> seen = false;
std::array<void*, 40> first_stack = {};
int first_depth = 0;
thread_local bool inside_new = false;

void note(std::atomic<int64_t>& counter) {
  if (!counting.load(std::memory_order_relaxed)) return;
  counter.fetch_add(1, std::memory_order_relaxed);
  if (&counter != &mallocs && !seen.exchange(true))
    first_depth = ::backtrace(first_stack.data(), static_cast<int>(first_stack.size()));
}

}  // namespace

void start_counting() {
  std::array<void*, 1> unused = {};
  ::backtrace(unused.data(), 1);  // what it loads, it loads now
  news = maps = mallocs = 0;
  seen = false;
  counting = true;
}

Allocations stop_counting() {
  counting = false;
  return {.by_new = news, .by_map = maps, .by_malloc = mallocs};
}

#if defined(TRIREME_TEST_SANITIZED)
const bool kCountsMalloc = false;
#else
const bool kCountsMalloc = true;
#endif

void expect_none(const Allocations& found, const std::string& where) {
  EXPECT_EQ(found.by_new, 0) << where;
  EXPECT_EQ(found.by_map, 0) << where;
  if (seen) ::backtrace_symbols_fd(first_stack.data(), first_depth, STDERR_FILENO);
  std::cout << where << ": libraries allocate "
            << (kCountsMalloc ? std::to_string(found.by_malloc) : "an unknown number of")
            << " times\n";
}

}  // namespace trireme::testing_memory

namespace counter = trireme::testing_memory;

// The other forms of new and delete lead to these.
void* operator new(size_t bytes) {
  counter::note(counter::news);
  counter::inside_new = true;
  void* memory = std::malloc(bytes);
  counter::inside_new = false;
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void* operator new(size_t bytes, std::align_val_t alignment) {
  counter::note(counter::news);
  counter::inside_new = true;
  void* memory = nullptr;
  const int error = ::posix_memalign(&memory, static_cast<size_t>(alignment), bytes);
  counter::inside_new = false;
  if (error != 0) throw std::bad_alloc();
  return memory;
}

void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  counter::note(counter::news);
  counter::inside_new = true;
  void* memory = std::malloc(bytes);
  counter::inside_new = false;
  return memory;
}

void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, size_t, std::align_val_t) noexcept {
  std::free(memory);
}

#if !defined(TRIREME_TEST_SANITIZED)
extern "C" {

// glibc's own, by the names under which it keeps them for this purpose.
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* memory, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);

static void note_malloc() {
  if (!counter::inside_new) counter::note(counter::mallocs);
}

void* malloc(size_t bytes) {
  note_malloc();
  return __libc_malloc(bytes);
}
void* calloc(size_t count, size_t bytes) {
  note_malloc();
  return __libc_calloc(count, bytes);
}
void* realloc(void* memory, size_t bytes) {
  note_malloc();
  return __libc_realloc(memory, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  note_malloc();
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** memory, size_t alignment, size_t bytes) {
  note_malloc();
  *memory = __libc_memalign(alignment, bytes);
  return *memory == nullptr ? ENOMEM : 0;
}
void* mmap(void* address, size_t bytes, int protection, int flags, int file,
           off_t offset) noexcept {
  counter::note(counter::maps);
  return reinterpret_cast<void*>(  // NOLINT(performance-no-int-to-ptr): what the call returns
      ::syscall(SYS_mmap, address, bytes, protection, flags, file, offset));
}

}  // extern "C"
#endif
