#pragma once
#include <cstdint>

// For a test program that wants to know what is allocated while a piece of code runs: it replaces
// operator new for the whole program, and where no sanitizer does so already, malloc and mmap.

namespace trireme::testing_memory {

/// Calls of all threads.
struct Allocations {
  int64_t by_new = 0;         ///< operator new: C++ code, which is ours
  int64_t by_map = 0;         ///< mmap: arenas
  int64_t by_malloc = 0;      ///< malloc and its kin, not by operator new: C libraries
  bool counts_malloc = true;  ///< false under a sanitizer, with by_map
};

/// Counts from here on until the next stop(). One at a time.
void start_counting();
/// The count since start_counting().
Allocations stop_counting();
/// Who made the first allocation that was counted by new or mmap, to standard error.
void print_first_allocation();

}  // namespace trireme::testing_memory
