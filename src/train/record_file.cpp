#include "train/record_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "core/error.h"
#include "core/format.h"
#include "core/log.h"

namespace trireme::train {
namespace {

// Writes all of it; an errno value, 0 for none.
int write_all(int descriptor, std::string_view rest) {
  while (!rest.empty()) {
    const ssize_t put = ::write(descriptor, rest.data(), rest.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return errno;
    rest.remove_prefix(static_cast<size_t>(put));
  }
  return 0;
}

}  // namespace

RecordFile::RecordFile(Path path) : path_(std::move(path)) {
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail_path("open", path_, errno);
  bytes_ = ::lseek(descriptor_, 0, SEEK_END);
  if (bytes_ < 0) {
    const int error_number = errno;
    ::close(descriptor_);
    fail_path("examine", path_, error_number);
  }
}

RecordFile::~RecordFile() {
  ::close(descriptor_);
}

int RecordFile::cut() const {
  return ::ftruncate(descriptor_, bytes_) == 0 ? 0 : errno;
}

bool RecordFile::append(std::string_view record) {
  int error_number = torn_ ? cut() : 0;
  if (error_number == 0) {
    torn_ = false;
    error_number = write_all(descriptor_, record);
  }
  if (error_number == 0) {
    bytes_ += static_cast<int64_t>(record.size());
    failing_ = false;
    return true;
  }
  torn_ = torn_ || cut() != 0;
  if (!failing_)
    warn(format("{}: cannot write a record: {}", path_.string(), errno_text(error_number)));
  failing_ = true;
  return false;
}

}  // namespace trireme::train
