#pragma once
#include <string>
#include <string_view>

#include "core/file.h"

namespace trireme::checkpoint {

/// A small file in the folder of checkpoints, by which processes find out whether they see the same
/// folder: one makes it, and tells the others what to look for. It goes with the object; one that a
/// killed process left goes with the next save.
class Probe {
 public:
  /// root: exists. Throws where the file cannot be written.
  explicit Probe(Path root);
  ~Probe();
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

  /// What to look for. No two probes say the same.
  [[nodiscard]] const std::string& mark() const { return mark_; }

 private:
  Path root_;
  std::string mark_;
};

/// Whether the probe of this mark is in the folder. A file system between hosts may show a new file
/// late: it is looked for again and again for some seconds.
[[nodiscard]] bool sees(const Path& root, std::string_view mark, double seconds = 5);

}  // namespace trireme::checkpoint
