#include "data/index_cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "core/error.h"
#include "core/format.h"
#include "core/log.h"

namespace trireme::data {
namespace {

constexpr std::chrono::milliseconds kPause{20};    // between two tries of a lock
constexpr std::chrono::milliseconds kQuiet{1000};  // a wait that needs no word

std::string this_process() {
  std::array<char, 256> host = {};
  ::gethostname(host.data(), host.size() - 1);
  return format("process {} on {}", ::getpid(), host.data());
}

/// A lock on a file that exists only while somebody holds or wants it. Its content names the
/// holder.
class FileLock {
 public:
  explicit FileLock(Path path) : path_(std::move(path)) {}
  ~FileLock() { release(); }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

  /// Whether it is held now.
  bool try_lock() {
    descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (descriptor_ < 0) fail_path("create", path_, errno);
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
      const int error_number = errno;
      ::close(std::exchange(descriptor_, -1));
      if (error_number != EWOULDBLOCK && error_number != EINTR) {
        fail_path("lock", path_, error_number);
      }
      return false;
    }
    // The one who held it before may have removed the name: then this is a lock on nothing.
    struct stat mine = {};
    struct stat named = {};
    if (::fstat(descriptor_, &mine) != 0) fail_path("examine", path_, errno);
    if (::stat(path_.c_str(), &named) != 0 || mine.st_ino != named.st_ino ||
        mine.st_dev != named.st_dev) {
      ::close(std::exchange(descriptor_, -1));
      return false;
    }
    const std::string holder = this_process();
    // Only for messages; the lock is held, whether the name could be written or not.
    [[maybe_unused]] const int cut = ::ftruncate(descriptor_, 0);
    [[maybe_unused]] const ssize_t put = ::write(descriptor_, holder.data(), holder.size());
    return true;
  }

  void release() {
    if (descriptor_ < 0) return;
    ::unlink(path_.c_str());
    ::close(std::exchange(descriptor_, -1));
  }

  [[nodiscard]] std::string holder() const {
    try {
      return read_file(path_);
    } catch (const Error&) {
      return "another process";
    }
  }

 private:
  Path path_;
  int descriptor_ = -1;
};

/// The index in a file if it is there and what it should be. `told`: what is wrong with a file is
/// worth a warning, because it is built anew now.
std::optional<SampleIndex> find(const Path& file, const IndexIdentity& identity, ThreadPool& pool,
                                bool told) {
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return std::nullopt;
  std::string trouble = "belongs to another dataset or order";
  try {
    StoredIndex stored = read_index_file(file, pool);
    if (stored.identity == identity) return std::move(stored.index);
  } catch (const Error& error) {
    trouble = error.trouble().what;
  }
  if (told) warn(format("{}: {}; it is built anew", file.string(), trouble));
  return std::nullopt;
}

/// What a builder that was killed has left of the file.
void remove_leftovers(const Path& file) {
  std::error_code ignored;
  const std::string begin = file.filename().string() + ".tmp-";
  for (const auto& entry : std::filesystem::directory_iterator(file.parent_path(), ignored)) {
    if (entry.path().filename().string().rfind(begin, 0) == 0) {
      std::filesystem::remove(entry.path(), ignored);
    }
  }
}

}  // namespace

IndexCache::IndexCache(Path folder, std::chrono::milliseconds patience)
    : folder_(std::move(folder)), patience_(patience) {
  make_folder(folder_);
}

SampleIndex IndexCache::get(const IndexIdentity& identity,
                            const std::function<SampleIndex()>& build, ThreadPool& pool) const {
  const Path file = folder_ / identity.file_name();
  if (auto found = find(file, identity, pool, false)) return *std::move(found);
  FileLock lock(Path(file) += ".lock");
  const auto start = std::chrono::steady_clock::now();
  bool told = false;
  while (!lock.try_lock()) {
    const auto waited = std::chrono::steady_clock::now() - start;
    if (waited >= patience_) {
      fail({.where = file.string(),
            .what = format("{} has been building it for {}", lock.holder(),
                           duration_text(std::chrono::duration<double>(patience_).count())),
            .rule = "one process builds an index, the others wait for it",
            .remedy = "end that process, or run without --data-cache-path"});
    }
    if (waited > kQuiet && !std::exchange(told, true)) {
      say(format("data: waiting for {}, which builds {}", lock.holder(), file.string()));
    }
    std::this_thread::sleep_for(kPause);
  }
  // It may have been built meanwhile.
  if (auto found = find(file, identity, pool, true)) return *std::move(found);
  remove_leftovers(file);
  {
    const SampleIndex built = build();
    write_index_file(file, identity, built, pool);
  }
  // Mapped as by all others, so that the node has it once.
  return read_index_file(file, pool).index;
}

}  // namespace trireme::data
