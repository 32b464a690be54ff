#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/file.h"

namespace trireme {

/// Folders in which the program's shared libraries are looked for, in this order: those of
/// TRIREME_PLUGIN_PATH, then the program's own.
[[nodiscard]] std::vector<Path> library_folders();

/// A shared library that was opened by the program. Closed at the end, unless it is to stay.
class SharedLibrary {
 public:
  /// local: its names are its own. lasting: its names are also those of libraries that it opens
  /// later, and it stays until the process ends: for libraries that leave threads or handlers.
  enum class Use { local, lasting };

  SharedLibrary() = default;
  /// Where it cannot be opened, holds nothing, and words says why.
  SharedLibrary(const Path& file, Use use, std::string& words);

  explicit operator bool() const { return library_ != nullptr; }
  /// The address of one of its names; null, and words says why, where it has none.
  [[nodiscard]] void* find(const char* name, std::string& words) const;

 private:
  struct Close {
    void operator()(void* library) const noexcept;
  };
  std::unique_ptr<void, Close> library_;
};

}  // namespace trireme
