#pragma once
#include <cstdint>
#include <string>

// For a test program that wants to know what is allocated while a piece of code runs: it replaces
// operator new for the whole program, and where no sanitizer does so already, malloc and mmap.

namespace trireme::testing_memory {

/// Calls of all threads.
struct Allocations {
  int64_t by_new = 0;     ///< operator new: C++ code, which is ours
  int64_t by_map = 0;     ///< mmap: arenas
  int64_t by_malloc = 0;  ///< malloc and its kin, not by operator new: C libraries
};

/// Counts from here on until the next stop(). One at a time.
void start_counting();
/// The count since start_counting().
Allocations stop_counting();
/// Fails the test where any of it is ours, with the addresses of who made the first; prints what
/// libraries allocate.
void expect_none(const Allocations& found, const std::string& where);

/// False under a sanitizer: then by_map and by_malloc are 0.
extern const bool kCountsMalloc;

}  // namespace trireme::testing_memory
