#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/thread_pool.h"
#include "text/split.h"
#include "text/word_table.h"

namespace trireme::text {

/// Counts the words of a corpus: the pieces of the split pattern, cut to at most kMaxWord bytes.
///
/// Texts are gathered into batches; the threads count a batch into tables of their own, which are
/// then added to the one for all. So the counts depend on the texts alone, and what is forgotten
/// above max_words on where batches end, which is a matter of the texts' sizes.
class WordCounter {
 public:
  static constexpr size_t kMaxWord = 256;

  /// The splitter, whose pattern cuts at lines or not (pattern.h), and the pool must outlive it.
  WordCounter(const Splitter& splitter, bool cuts_at_lines, ThreadPool& pool, size_t max_words);

  void add(std::string text);
  /// The counts, once all texts have been added.
  [[nodiscard]] WordTable finish();

 private:
  struct Worker {
    explicit Worker(const Splitter& splitter) : pieces(splitter) {}
    Pieces pieces;
    WordTable words;
  };
  void count_batch();

  bool cuts_at_lines_;
  ThreadPool& pool_;
  size_t max_words_;
  std::vector<std::unique_ptr<Worker>> workers_;  // by thread
  std::vector<std::string> batch_;
  size_t batch_bytes_ = 0;
  WordTable words_;
};

}  // namespace trireme::text
