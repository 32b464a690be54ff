#include "checkpoint/disk.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

namespace trireme::checkpoint {
namespace {

class SystemFile final : public DiskFile {
 public:
  explicit SystemFile(Path path) : path_(std::move(path)) {
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (descriptor_ < 0) fail_path("create", path_, errno);
  }
  SystemFile(const SystemFile&) = delete;
  SystemFile& operator=(const SystemFile&) = delete;
  ~SystemFile() override {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  void write(std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      const ssize_t put = ::write(descriptor_, bytes.data(), bytes.size());
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) fail_path("write", path_, errno);
      bytes = bytes.subspan(static_cast<size_t>(put));
    }
  }

  void finish() override {
    if (::fsync(descriptor_) != 0) fail_path("sync", path_, errno);
    if (::close(std::exchange(descriptor_, -1)) != 0) fail_path("close", path_, errno);
  }

 private:
  Path path_;
  int descriptor_ = -1;
};

class SystemDisk final : public Disk {
 public:
  std::unique_ptr<DiskFile> create(const Path& path) override {
    return std::make_unique<SystemFile>(path);
  }

  void create_folder(const Path& path) override {
    if (::mkdir(path.c_str(), 0755) != 0) fail_path("create the folder", path, errno);
  }

  void sync_folder(const Path& path) override { trireme::sync_folder(path); }

  void rename(const Path& from, const Path& to) override {
    if (::rename(from.c_str(), to.c_str()) != 0) fail_path("rename to " + to.string(), from, errno);
  }

  bool exchange(const Path& a, const Path& b) override {
    if (::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0) return true;
    if (errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP) return false;
    fail_path("exchange with " + b.string(), a, errno);
  }

  void remove_all(const Path& path) override {
    std::error_code error;
    std::filesystem::remove_all(path, error);
    if (error) fail_path("remove", path, error.value());
  }
};

}  // namespace

bool is_there(const Path& path) {
  std::error_code error;
  const bool there = std::filesystem::exists(path, error);
  if (error) fail_path("examine", path, error.value());
  return there;
}

Disk& system_disk() {
  static SystemDisk disk;
  return disk;
}

}  // namespace trireme::checkpoint
