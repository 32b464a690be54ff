#pragma once
#include <optional>
#include <string>

#include "core/error.h"
#include "core/shared_library.h"
#include "plugin/abi.h"

namespace trireme::plugin {

/// An open shared library with a kind of device in it. Everything made from it ends before it does.
class Plugin {
 public:
  /// Throws, with file, what differs and what to do, where the library cannot be loaded or was not
  /// built together with this program.
  explicit Plugin(const Path& file);

  [[nodiscard]] const abi::Table& table() const { return *table_; }

 private:
  SharedLibrary library_;
  const abi::Table* table_ = nullptr;
};

/// Why a library's table cannot be used by this program; none where it can. Looks at nothing that
/// another version may have elsewhere.
[[nodiscard]] std::optional<Trouble> refusal(const abi::Table& table, const Path& file);

/// The library of a kind of device: "cuda" is the file trireme_cuda.so, looked for in the folders
/// of TRIREME_PLUGIN_PATH and then beside the program. What has a slash or ends in .so is the file
/// itself. Throws, with all that was tried, where there is none.
[[nodiscard]] Path find_plugin(const std::string& device);

}  // namespace trireme::plugin
