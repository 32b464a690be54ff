#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trireme {

using Path = std::filesystem::path;

/// Throws for a file call that failed: "path: cannot VERB: the system's words", with a remedy where
/// there is one (full disk, permissions). error_number: errno.
[[noreturn]] void fail_path(std::string_view verb, const Path& path, int error_number);

/// The whole content of a file. Throws with the path and the system's own words.
[[nodiscard]] std::string read_file(const Path& path);

/// A file read from front to end, for what does not fit in memory; pipes are read as well. Throws
/// with the path and the system's own words.
class InputFile {
 public:
  explicit InputFile(Path path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  /// Reads up to bytes.size() bytes and returns how many; 0 at the end only.
  [[nodiscard]] size_t read(std::span<char> bytes);
  /// Size when it was opened; 0 for a pipe.
  [[nodiscard]] uint64_t size() const { return size_; }

 private:
  Path path_;
  int descriptor_ = -1;
  uint64_t size_ = 0;
};

/// Writes a file that is whole or absent: bytes go to a temporary name beside it; commit() flushes,
/// syncs, renames and syncs the folder. Destroyed without commit(), the temporary file is removed
/// and the old file stays; where the process is killed, the next AtomicFile of that path removes
/// what it left (a lock on the temporary file tells that nobody writes it any more). Every failure
/// throws (a full disk says so) and names the path.
class AtomicFile {
 public:
  explicit AtomicFile(Path path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Appends, through a buffer of 1 MiB.
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  [[nodiscard]] uint64_t bytes_written() const { return written_; }
  /// Flushes and syncs what was written. Where files belong together, all are synced before the
  /// first is committed: what can still fail then is a rename.
  void sync();
  void commit();

 private:
  void flush();

  Path path_;
  Path temporary_;
  int descriptor_ = -1;
  uint64_t written_ = 0;
  std::vector<std::byte> buffer_;
};

/// AtomicFile in one call.
void write_file(const Path& path, std::string_view content);

/// Makes the entries of a folder durable (fsync).
void sync_folder(const Path& folder);

/// Creates a folder and its parents; throws when it cannot.
void make_folder(const Path& folder);

/// Free bytes of the file system that holds the path (or its nearest parent that exists).
[[nodiscard]] uint64_t free_bytes(const Path& path);

/// Checksum of bytes: XXH3, 64 bit, as 16 hexadecimal digits.
[[nodiscard]] std::string checksum(std::span<const std::byte> bytes);

}  // namespace trireme
