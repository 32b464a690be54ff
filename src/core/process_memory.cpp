#include "core/process_memory.h"

#include <malloc.h>

#include <charconv>
#include <fstream>
#include <iterator>
#include <mutex>
#include <string>

namespace trireme {
namespace {

// The number of a line like "RssAnon:      1234 kB", in bytes.
std::optional<int64_t> bytes_of(std::string_view status, std::string_view key) {
  const size_t at = status.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  const size_t digits = status.find_first_not_of(" \t", at + key.size());
  if (digits == std::string_view::npos) return std::nullopt;
  int64_t kibibytes = 0;
  const auto [end, error] =
      std::from_chars(status.data() + digits, status.data() + status.size(), kibibytes);
  if (error != std::errc()) return std::nullopt;
  return kibibytes * 1024;
}

}  // namespace

std::optional<int64_t> process_memory_of(std::string_view status) {
  const auto anonymous = bytes_of(status, "\nRssAnon:");
  const auto shared = bytes_of(status, "\nRssShmem:");
  if (!anonymous || !shared) return std::nullopt;
  return *anonymous + *shared;
}

std::optional<int64_t> process_memory() {
  std::ifstream file("/proc/self/status");
  const std::string status((std::istreambuf_iterator<char>(file)),
                           std::istreambuf_iterator<char>());
  return process_memory_of(status);
}

void give_back_memory() {
#if defined(__GLIBC__)
  // Where another malloc stands in for glibc's (a sanitizer's, one that is preloaded), this is the
  // first call into glibc's own, which prepares itself for it and is not made for two at once.
  static std::mutex one;
  const std::lock_guard lock(one);
  ::malloc_trim(0);
#endif
}

}  // namespace trireme
