#pragma once
#include <cstddef>
#include <memory>
#include <span>

#include "core/file.h"

namespace trireme::checkpoint {

/// Whether there is a file or folder; throws where that cannot be seen.
[[nodiscard]] bool is_there(const Path& path);

/// A new file, written front to end.
class DiskFile {
 public:
  DiskFile() = default;
  DiskFile(const DiskFile&) = delete;
  DiskFile& operator=(const DiskFile&) = delete;
  /// Closes it; what was not finished may be lost.
  virtual ~DiskFile() = default;
  virtual void write(std::span<const std::byte> bytes) = 0;
  /// Makes the bytes durable and closes the file.
  virtual void finish() = 0;
};

/// Every call by which this room changes a file system, so that a test can record them, let one
/// fail, or stop behind any of them. All throw, with path and reason, when they do not succeed.
class Disk {
 public:
  Disk() = default;
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;
  virtual ~Disk() = default;

  /// A file that did not exist.
  virtual std::unique_ptr<DiskFile> create(const Path& path) = 0;
  /// A folder that did not exist, in one that does.
  virtual void create_folder(const Path& path) = 0;
  /// Makes the entries of a folder durable.
  virtual void sync_folder(const Path& path) = 0;
  /// Replaces a file; a folder only where the new name is free.
  virtual void rename(const Path& from, const Path& to) = 0;
  /// Two entries change names in one step. False, and nothing done, where the file system cannot.
  [[nodiscard]] virtual bool exchange(const Path& a, const Path& b) = 0;
  /// A file, or a folder with all that is in it, in no particular order. Nothing there: nothing to
  /// do.
  virtual void remove_all(const Path& path) = 0;
};

/// The machine's own.
[[nodiscard]] Disk& system_disk();

}  // namespace trireme::checkpoint
