#include "core/shared_library.h"

#include <dlfcn.h>

#include <algorithm>
#include <system_error>

#include "core/environment.h"

namespace trireme {
namespace {

std::string loader_words() {
  const char* const words = ::dlerror();
  return words == nullptr ? "the loader gives no reason" : words;
}

int flags_of(SharedLibrary::Use use) {
  return RTLD_NOW | (use == SharedLibrary::Use::local ? RTLD_LOCAL : RTLD_GLOBAL | RTLD_NODELETE);
}

}  // namespace

std::vector<Path> library_folders() {
  std::vector<Path> found;
  std::string listed = environment_value("TRIREME_PLUGIN_PATH").value_or("");
  while (!listed.empty()) {
    const size_t colon = std::min(listed.find(':'), listed.size());
    if (colon > 0) found.emplace_back(listed.substr(0, colon));
    listed.erase(0, colon + 1);
  }
  std::error_code error;  // where the system does not say, it is not looked in
  const Path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) found.push_back(program.parent_path());
  return found;
}

// A library that stays loaded behind its use is no trouble.
void SharedLibrary::Close::operator()(void* library) const noexcept {
  static_cast<void>(::dlclose(library));
}

// By an absolute path, so that the loader looks nowhere else.
SharedLibrary::SharedLibrary(const Path& file, Use use, std::string& words)
    : library_(::dlopen(std::filesystem::absolute(file).c_str(), flags_of(use))) {
  if (library_ == nullptr) words = loader_words();
}

void* SharedLibrary::find(const char* name, std::string& words) const {
  void* const address = ::dlsym(library_.get(), name);
  if (address == nullptr) words = loader_words();
  return address;
}

}  // namespace trireme
