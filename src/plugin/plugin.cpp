#include "plugin/plugin.h"

#include <dlfcn.h>

#include <algorithm>
#include <string_view>
#include <system_error>
#include <vector>

#include "core/environment.h"
#include "core/format.h"
#include "plugin/build_id.h"

namespace trireme::plugin {
namespace {

std::string loader_words() {
  const char* const words = ::dlerror();
  return words == nullptr ? "the loader gives no reason" : words;
}

// The folder of this program; none where the system does not say.
std::optional<Path> own_folder() {
  std::error_code error;
  const Path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return std::nullopt;
  return program.parent_path();
}

std::vector<Path> folders() {
  std::vector<Path> found;
  std::string listed = environment_value("TRIREME_PLUGIN_PATH").value_or("");
  while (!listed.empty()) {
    const size_t colon = std::min(listed.find(':'), listed.size());
    if (colon > 0) found.emplace_back(listed.substr(0, colon));
    listed.erase(0, colon + 1);
  }
  if (const std::optional<Path> own = own_folder()) found.push_back(*own);
  return found;
}

}  // namespace

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

// A library that stays loaded behind its use is no trouble.
void Plugin::Close::operator()(void* library) const noexcept {
  static_cast<void>(::dlclose(library));
}

// By an absolute path, so that the loader looks nowhere else.
Plugin::Plugin(const Path& file)
    : library_(::dlopen(std::filesystem::absolute(file).c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (library_ == nullptr) {
    fail({.where = file.string(),
          .what = "cannot be loaded: " + loader_words(),
          .remedy = "install what it needs, or run with --device cpu"});
  }
  void* const entry = ::dlsym(library_.get(), abi::kEntryName);
  if (entry == nullptr) {
    fail({.where = file.string(),
          .what = "is no device's library: " + loader_words(),
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
    for (const Path& folder : folders()) {
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
