#pragma once
#include <chrono>
#include <cstdint>
#include <optional>

#include "core/log.h"
#include "data/corpus_reader.h"

namespace trireme::data {

/// How far preprocessing is. On a terminal a bar with the share of the files, documents/s, MB/s of
/// text and the time left; elsewhere Megatron-LM's line for every so many documents.
class PreprocessProgress {
 public:
  /// reader must outlive this.
  PreprocessProgress(const CorpusReader& reader, int64_t log_interval);

  /// documents: done so far
  void update(int64_t documents);
  void finish(int64_t documents);

 private:
  [[nodiscard]] double seconds() const;
  void line(int64_t documents) const;

  const CorpusReader& reader_;
  int64_t log_interval_;
  int64_t next_line_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::optional<Progress> bar_;  // on a terminal
};

}  // namespace trireme::data
