#pragma once
#include <cstddef>
#include <span>

#include "core/file.h"

namespace trireme {

/// A file mapped for reading. Move-only owner of the mapping; an empty file has empty bytes. A file
/// that is shortened, or whose disk fails, while it is mapped ends the program with one message
/// that names it (exit 1): there is no other way to go on behind a load that has no data.
class MappedFile {
 public:
  explicit MappedFile(const Path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  [[nodiscard]] std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace trireme
