#include "plugin/plugin.h"

#include <string_view>
#include <system_error>
#include <vector>

#include "core/format.h"
#include "plugin/build_id.h"

namespace trireme::plugin {

std::optional<Trouble> refusal(const abi::Table& table, const Path& file) {
  const auto refuse = [&](std::string what) {
    return Trouble{
        .where = file.string(),
        .what = std::move(what),
        .rule = "a device's library and the program are built together",
        .remedy = "build both from the same sources, or name another file with --device"};
  };
  if (table.version != abi::kVersion) {
    return refuse(format("it has version {} of the plugin interface, the program has {}",
                         table.version, abi::kVersion));
  }
  if (table.bytes != sizeof(abi::Table)) {
    return refuse(
        format("its table has {} bytes, the program's has {}", table.bytes, sizeof(abi::Table)));
  }
  if (std::string_view(table.build_id) != build_id()) {
    return refuse(format("it is of build {}, the program of {}", table.build_id, build_id()));
  }
  return std::nullopt;
}

Plugin::Plugin(const Path& file) {
  std::string words;
  library_ = SharedLibrary(file, SharedLibrary::Use::local, words);
  if (!library_) {
    fail({.where = file.string(),
          .what = "cannot be loaded: " + words,
          .remedy = "install what it needs, or run with --device cpu"});
  }
  void* const entry = library_.find(abi::kEntryName, words);
  if (entry == nullptr) {
    fail({.where = file.string(),
          .what = "is no device's library: " + words,
          .rule = format("one has a function {}", abi::kEntryName),
          .remedy = "name another file with --device"});
  }
  table_ = reinterpret_cast<abi::Entry>(entry)();
  if (const auto trouble = refusal(*table_, file)) fail(*trouble);
}

Path find_plugin(const std::string& device) {
  std::vector<Path> tried;
  const auto there = [&](const Path& file) {
    tried.push_back(file);
    std::error_code error;  // what cannot be looked at is not there
    return std::filesystem::exists(file, error);
  };
  const bool is_file = device.find('/') != std::string::npos || Path(device).extension() == ".so";
  if (is_file) {
    if (there(device)) return device;
  } else {
    for (const Path& folder : library_folders()) {
      Path file = folder / format("trireme_{}.so", device);
      if (there(file)) return file;
    }
  }
  std::string list;
  for (const Path& file : tried) list += (list.empty() ? "" : ", ") + file.string();
  fail_usage({.where = "--device " + device,
              .what = format("there is no {}", list),
              .rule =
                  "cpu is in the program, another device is a library beside it, in a folder of "
                  "TRIREME_PLUGIN_PATH, or named by its path",
              .remedy = "use --device cpu, or build the library together with the program"});
}

}  // namespace trireme::plugin
