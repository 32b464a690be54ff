#include "app/generate_output.h"

#include <cerrno>
#include <cstdio>

#include "core/error.h"

namespace trireme::app {

GenerateOutput::GenerateOutput(const std::optional<Path>& file)
    : file_(file ? std::make_unique<AtomicFile>(*file) : nullptr),
      pipe_handler_(std::signal(SIGPIPE, SIG_IGN)) {}

GenerateOutput::~GenerateOutput() {
  std::signal(SIGPIPE, pipe_handler_);
}

void GenerateOutput::write(std::string_view bytes) {
  if (file_) {
    file_->write(bytes);
    return;
  }
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size() &&
                       std::fflush(stdout) == 0;
  if (written) return;
  const int error = errno;
  fail({.where = "standard output",
        .what = errno_text(error),
        .rule = "answers are written as they grow; those that were not are lost",
        .remedy = error == EPIPE ? "keep the reader open, or write to a file with --output"
                                 : "make room, or write elsewhere with --output"});
}

void GenerateOutput::finish() {
  if (file_) file_->commit();
}

}  // namespace trireme::app
