#include "core/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <utility>

#include "core/error.h"

namespace trireme {
namespace {

// What is mapped, in a form that a signal handler may read: an entry is whole while its begin is
// not zero. A program maps few files; those beyond the table end without a name.
struct Mapping {
  std::atomic<uintptr_t> begin = 0;
  std::atomic<size_t> size = 0;
  std::array<char, 512> path = {};  // the end of a longer one
};
std::array<Mapping, 1024> mappings;
std::mutex adding;
static_assert(std::atomic<uintptr_t>::is_always_lock_free, "a signal handler reads it");

void write_words(const char* words) {
  // Nothing can be done about words that do not arrive.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, words, std::strlen(words));
}

void on_bus_error(int signal, siginfo_t* info, void*) {
  const auto at = reinterpret_cast<uintptr_t>(info->si_addr);
  for (const Mapping& mapping : mappings) {
    const uintptr_t begin = mapping.begin;
    if (begin == 0 || at < begin || at - begin >= mapping.size) continue;
    write_words("trireme: ");
    write_words(mapping.path.data());
    write_words(
        ": no data where there was some when it was opened; a file must not be shortened "
        "while it is read, nor its disk fail; make the file again\n");
    ::_exit(1);
  }
  // Not ours: as if we had not been here.
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void catch_bus_errors() {
  struct sigaction action = {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  if (::sigaction(SIGBUS, &action, nullptr) != 0)
    fail({.where = "signals", .what = "cannot be caught: " + errno_text(errno)});
}

void remember(const std::byte* data, size_t size, const Path& path) {
  static const bool caught = (catch_bus_errors(), true);
  static_cast<void>(caught);
  const std::scoped_lock lock(adding);
  for (Mapping& mapping : mappings) {
    if (mapping.begin != 0) continue;
    std::string name = path.string();
    if (name.size() >= mapping.path.size())
      name = "..." + name.substr(name.size() - mapping.path.size() + 4);
    std::memcpy(mapping.path.data(), name.c_str(), name.size() + 1);
    mapping.size = size;
    mapping.begin = reinterpret_cast<uintptr_t>(data);
    return;
  }
}

void forget(const std::byte* data) {
  for (Mapping& mapping : mappings) {
    auto begin = reinterpret_cast<uintptr_t>(data);
    if (mapping.begin.compare_exchange_strong(begin, 0)) return;
  }
}

}  // namespace

MappedFile::MappedFile(const Path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) fail_path("open", path, errno);
  struct stat status = {};
  const int known = ::fstat(file, &status);
  int error = known == 0 ? (S_ISDIR(status.st_mode) ? EISDIR : 0) : errno;
  void* mapped = nullptr;
  if (error == 0 && status.st_size > 0) {
    size_ = static_cast<size_t>(status.st_size);
    mapped = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED) error = errno;
  }
  ::close(file);
  if (error != 0) fail_path("map", path, error);
  data_ = static_cast<const std::byte*>(mapped);
  if (data_ != nullptr) remember(data_, size_, path);
}

MappedFile::~MappedFile() {
  if (data_ == nullptr) return;
  forget(data_);
  ::munmap(const_cast<std::byte*>(data_), size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

}  // namespace trireme
