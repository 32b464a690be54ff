#pragma once
// For fuzz targets (fuzz/*_fuzz.cpp of the rooms); nothing else includes it.

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/file.h"
#include "core/format.h"

namespace trireme::fuzz {

[[nodiscard]] inline std::string_view text_of(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Ends the process, which is what a fuzzer calls a find.
inline void require(bool condition, const char* property) {
  if (condition) return;
  std::fprintf(stderr, "does not hold: %s\n", property);
  std::abort();
}

/// Calls the reader under test. What it refuses (an Error) is fine; false then.
template <class Reader>
bool accepted(Reader&& read) {
  try {
    read();
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// Bytes as a file in memory, for readers that take a path.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : descriptor_(memfd_create("fuzz", 0)) {
    require(descriptor_ >= 0, "there are files in memory");
    require(::write(descriptor_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()),
            "a file in memory takes all bytes");
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  [[nodiscard]] Path path() const { return format("/proc/self/fd/{}", descriptor_); }

 private:
  int descriptor_;
};

}  // namespace trireme::fuzz
