#include "core/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/error.h"
#include "core/format.h"
#include "core/log.h"

namespace trireme {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;

class Descriptor {
 public:
  Descriptor(const Path& path, int flags) : value_(::open(path.c_str(), flags | O_CLOEXEC)) {}
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int value() const { return value_; }
  [[nodiscard]] int release() { return std::exchange(value_, -1); }

 private:
  int value_;
};

size_t regular_file_size(const Descriptor& file, const Path& path) {
  struct stat status = {};
  if (::fstat(file.value(), &status) != 0) fail_path("examine", path, errno);
  if (S_ISDIR(status.st_mode)) fail_path("read", path, EISDIR);
  return static_cast<size_t>(status.st_size);
}

}  // namespace

void fail_path(std::string_view verb, const Path& path, int error_number) {
  const char* remedy = error_number == ENOSPC   ? "free some space or choose another folder"
                       : error_number == EACCES ? "check the permissions"
                                                : "";
  fail({.where = path.string(),
        .what = format("cannot {}: {}", verb, errno_text(error_number)),
        .remedy = remedy});
}

std::string read_file(const Path& path) {
  InputFile file(path);
  std::string content;
  content.reserve(file.size());
  std::vector<char> buffer(kBufferBytes);
  while (const size_t got = file.read(buffer)) content.append(buffer.data(), got);
  return content;
}

InputFile::InputFile(Path path) : path_(std::move(path)) {
  Descriptor file(path_, O_RDONLY);
  if (file.value() < 0) fail_path("open", path_, errno);
  size_ = regular_file_size(file, path_);
  descriptor_ = file.release();
}

InputFile::~InputFile() {
  ::close(descriptor_);
}

size_t InputFile::read(std::span<char> bytes) {
  for (;;) {
    const ssize_t got = ::read(descriptor_, bytes.data(), bytes.size());
    if (got >= 0) return static_cast<size_t>(got);
    if (errno != EINTR) fail_path("read", path_, errno);
  }
}

namespace {

constexpr std::string_view kTemporary = ".tmp-";

// Temporary files of this path that no process holds locked: their writers were killed. Not being
// able to tell, or to remove them, is no reason not to write.
void remove_leftovers(const Path& path) {
  const Path folder = path.has_parent_path() ? path.parent_path() : Path(".");
  const std::string begin = path.filename().string() + std::string(kTemporary);
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    if (at->path().filename().string().rfind(begin, 0) != 0) continue;
    const Descriptor file(at->path(), O_RDONLY | O_NOFOLLOW);
    if (file.value() < 0 || ::flock(file.value(), LOCK_EX | LOCK_NB) != 0) continue;
    if (::unlink(at->path().c_str()) == 0)
      warn(format("removed {}, which a killed process left", at->path().string()));
  }
}

}  // namespace

AtomicFile::AtomicFile(Path path) : path_(std::move(path)), temporary_(path_) {
  remove_leftovers(path_);
  temporary_ += format("{}{}", kTemporary, ::getpid());
  descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor_ < 0) fail_path("create", path_, errno);
  // Held as long as the file is open. A file system without locks leaves leftovers lying.
  static_cast<void>(::flock(descriptor_, LOCK_EX | LOCK_NB));
  buffer_.reserve(kBufferBytes);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const size_t room = kBufferBytes - buffer_.size();
    const std::span<const std::byte> piece = bytes.first(std::min(room, bytes.size()));
    buffer_.insert(buffer_.end(), piece.begin(), piece.end());
    bytes = bytes.subspan(piece.size());
    written_ += piece.size();
    if (buffer_.size() == kBufferBytes) flush();
  }
}

void AtomicFile::flush() {
  std::span<const std::byte> rest(buffer_);
  while (!rest.empty()) {
    const ssize_t put = ::write(descriptor_, rest.data(), rest.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail_path("write", path_, errno);
    rest = rest.subspan(static_cast<size_t>(put));
  }
  buffer_.clear();
}

void AtomicFile::sync() {
  TRIREME_ASSERT(descriptor_ >= 0, "an atomic file is committed once");
  flush();
  if (::fsync(descriptor_) != 0) fail_path("sync", path_, errno);
}

void AtomicFile::commit() {
  sync();
  const int closed = ::close(std::exchange(descriptor_, -1));
  if (closed != 0 || ::rename(temporary_.c_str(), path_.c_str()) != 0) {
    const int error_number = errno;
    ::unlink(temporary_.c_str());
    fail_path("finish", path_, error_number);
  }
  sync_folder(path_.has_parent_path() ? path_.parent_path() : Path("."));
}

void write_file(const Path& path, std::string_view content) {
  AtomicFile file(path);
  file.write(content);
  file.commit();
}

void sync_folder(const Path& folder) {
  const Descriptor file(folder, O_RDONLY | O_DIRECTORY);
  if (file.value() < 0 || ::fsync(file.value()) != 0) fail_path("sync", folder, errno);
}

void make_folder(const Path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) fail_path("create the folder", folder, error.value());
}

uint64_t free_bytes(const Path& path) {
  Path existing = std::filesystem::absolute(path);
  std::error_code error;
  while (!std::filesystem::exists(existing, error) && existing.has_parent_path())
    existing = existing.parent_path();
  struct statvfs status = {};
  if (::statvfs(existing.c_str(), &status) != 0) fail_path("examine", existing, errno);
  return uint64_t{status.f_bavail} * status.f_frsize;
}

std::string checksum(std::span<const std::byte> bytes) {
  return format("{:016x}", XXH3_64bits(bytes.data(), bytes.size()));
}

}  // namespace trireme
