#pragma once
#include <chrono>
#include <functional>

#include "data/sample_index_file.h"

namespace trireme::data {

/// A folder of sample indices, so that each is built once: one process of a node builds, the others
/// and all later runs map its file (and share its memory). Nodes may share the folder or have
/// one each.
///
/// A file is found by what the index is a function of (IndexIdentity), never by name or age of a
/// dataset, so it cannot be stale. One that is damaged, or is not what its name says, is built anew
/// and a warning tells so. A builder holds a lock (flock) on NAME.lock, which the system takes from
/// it when it dies.
class IndexCache {
 public:
  /// Makes the folder. patience: how long get() waits for another builder.
  explicit IndexCache(Path folder, std::chrono::milliseconds patience = std::chrono::minutes(30));

  /// The index of an identity, mapped; `build` makes it where there is none yet. Throws when the
  /// wait is over, with the holder of the lock, and when the file cannot be written.
  [[nodiscard]] SampleIndex get(const IndexIdentity& identity,
                                const std::function<SampleIndex()>& build, ThreadPool& pool) const;

 private:
  Path folder_;
  std::chrono::milliseconds patience_;
};

}  // namespace trireme::data
