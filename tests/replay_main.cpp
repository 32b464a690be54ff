// Runs a fuzz target over files and over all files of folders: those that lie beside it. So every
// build, with its own compiler and sanitizers, sees the inputs that once failed; looking for new
// ones is libFuzzer's (preset `fuzz`).

#include <cstdio>
#include <filesystem>
#include <vector>

#include "core/error.h"
#include "core/file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int main(int count, char** words) {
  std::vector<trireme::Path> files;
  for (int i = 1; i < count; ++i) {
    if (!std::filesystem::is_directory(words[i])) {
      files.emplace_back(words[i]);
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(words[i]))
      files.push_back(entry.path());
  }
  if (files.empty()) {
    std::fprintf(stderr, "usage: %s FILE|FOLDER...: there is no file to run\n", words[0]);
    return 2;
  }
  for (const trireme::Path& path : files) {
    std::printf("%s\n", path.c_str());
    const std::string bytes = trireme::read_file(path);
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  }
  return 0;
}
