#include "data/preprocess_progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "core/format.h"

namespace trireme::data {

PreprocessProgress::PreprocessProgress(const CorpusReader& reader, int64_t log_interval)
    : reader_(reader), log_interval_(log_interval), next_line_(log_interval) {
  if (is_terminal(STDERR_FILENO)) bar_.emplace("preprocess", "bytes", reader.total_bytes());
}

double PreprocessProgress::seconds() const {
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start_;
  return std::max(passed.count(), 1e-6);
}

void PreprocessProgress::update(int64_t documents) {
  if (bar_) {
    const auto count = static_cast<double>(documents);
    bar_->update(reader_.bytes_read(),
                 format("{} documents, {}/s, {:.1f} MB/s of text", count_text(count),
                        count_text(count / seconds()),
                        static_cast<double>(reader_.text_bytes()) / 1e6 / seconds()));
  } else if (documents >= next_line_) {
    line(documents);
    next_line_ = (documents / log_interval_ + 1) * log_interval_;
  }
}

void PreprocessProgress::finish(int64_t documents) {
  if (bar_) {
    bar_->finish(format("{} documents", documents));
  } else {
    line(documents);
  }
}

void PreprocessProgress::line(int64_t documents) const {
  // Logs are searched for these words.
  fmt::print(stderr, "Processed {} documents ({:.1f} docs/s, {:.2f} MB/s).\n", documents,
             static_cast<double>(documents) / seconds(),
             static_cast<double>(reader_.text_bytes()) / 1e6 / seconds());
}

}  // namespace trireme::data
