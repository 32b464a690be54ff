#pragma once
#include <cstdint>
#include <string_view>

#include "core/file.h"

namespace trireme::train {

/// A file that grows by records while a run goes on. Each is there whole or not at all: where one
/// cannot be written (a full disk), what came of it is cut off again, and it is told, once until
/// records get through again. Training goes on: no report is worth the run.
class RecordFile {
 public:
  /// Appends to the file, which is made where it is missing. Throws where it cannot be opened.
  explicit RecordFile(Path path);
  ~RecordFile();
  RecordFile(const RecordFile&) = delete;
  RecordFile& operator=(const RecordFile&) = delete;

  /// Whether it could be written.
  bool append(std::string_view record);
  [[nodiscard]] const Path& path() const { return path_; }

 private:
  /// Takes away what is behind the last whole record; an errno value, 0 for none.
  int cut() const;

  Path path_;
  int descriptor_ = -1;
  int64_t bytes_ = 0;  // of whole records
  bool torn_ = false;  // there is more in the file than they
  bool failing_ = false;
};

}  // namespace trireme::train
