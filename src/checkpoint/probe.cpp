#include "checkpoint/probe.h"

#include <unistd.h>

#include <array>
#include <chrono>
#include <thread>
#include <utility>

#include "checkpoint/disk.h"
#include "core/format.h"

namespace trireme::checkpoint {
namespace {

constexpr std::chrono::milliseconds kPause{50};

}  // namespace

// A name that clean_up() takes for what a killed save left, and no other process gives.
Probe::Probe(Path root) : root_(std::move(root)) {
  std::array<char, 256> host = {};
  ::gethostname(host.data(), host.size() - 1);
  mark_ = format(".iter_probe.tmp-{}-{}-{}", host.data(), ::getpid(),
                 std::chrono::system_clock::now().time_since_epoch().count());
  write_file(root_ / mark_, "");
}

Probe::~Probe() {
  std::error_code ignored;
  std::filesystem::remove(root_ / mark_, ignored);
}

bool sees(const Path& root, std::string_view mark, double seconds) {
  const auto start = std::chrono::steady_clock::now();
  while (!is_there(root / mark)) {
    if (std::chrono::steady_clock::now() - start > std::chrono::duration<double>(seconds))
      return false;
    std::this_thread::sleep_for(kPause);
  }
  return true;
}

}  // namespace trireme::checkpoint
