#pragma once
#include <csignal>
#include <memory>
#include <optional>
#include <string_view>

#include "core/file.h"

namespace trireme::app {

/// Where answers go: standard output as they grow, or a file that is whole or absent.
class GenerateOutput {
 public:
  explicit GenerateOutput(const std::optional<Path>& file);
  ~GenerateOutput();
  GenerateOutput(const GenerateOutput&) = delete;
  GenerateOutput& operator=(const GenerateOutput&) = delete;

  /// Written through at once. Throws when standard output is closed or full.
  void write(std::string_view bytes);
  /// All is written.
  void finish();

 private:
  std::unique_ptr<AtomicFile> file_;
  // While this lives, a closed pipe is a failed write with a message, not the end of the process.
  void (*pipe_handler_)(int) = nullptr;
};

}  // namespace trireme::app
