#include "text/word_counter.h"

#include <algorithm>
#include <utility>

#include "text/tokenizer.h"

namespace trireme::text {
namespace {

constexpr size_t kBatchBytes = size_t{32} << 20;
constexpr size_t kTaskBytes = size_t{1} << 20;

}  // namespace

WordCounter::WordCounter(const Splitter& splitter, bool cuts_at_lines, ThreadPool& pool,
                         size_t max_words)
    : cuts_at_lines_(cuts_at_lines), pool_(pool), max_words_(max_words) {
  for (int thread = 0; thread < pool.threads(); ++thread)
    workers_.push_back(std::make_unique<Worker>(splitter));
}

void WordCounter::add(std::string text) {
  batch_bytes_ += text.size();
  batch_.push_back(std::move(text));
  if (batch_bytes_ >= kBatchBytes) count_batch();
}

WordTable WordCounter::finish() {
  count_batch();
  return std::move(words_);
}

void WordCounter::count_batch() {
  // Long texts are cut for the threads; short ones go together.
  std::vector<std::vector<std::string_view>> tasks;
  size_t task_bytes = kTaskBytes;
  for (std::string_view rest : batch_) {
    while (!rest.empty()) {
      const bool is_long = cuts_at_lines_ && rest.size() > kTaskBytes;
      const size_t cut = is_long ? find_cut(rest, kTaskBytes) : 0;
      const std::string_view part = rest.substr(0, cut == 0 ? rest.size() : cut);
      if (task_bytes >= kTaskBytes) {
        tasks.emplace_back();
        task_bytes = 0;
      }
      tasks.back().push_back(part);
      task_bytes += part.size();
      rest.remove_prefix(part.size());
    }
  }
  pool_.parallel_for(static_cast<int64_t>(tasks.size()), [&](int64_t task, int thread) {
    Worker& worker = *workers_[static_cast<size_t>(thread)];
    for (const std::string_view text : tasks[static_cast<size_t>(task)]) {
      worker.pieces.start(text);
      for (std::string_view piece; worker.pieces.next(piece);) {
        for (; piece.size() > kMaxWord; piece.remove_prefix(kMaxWord))
          worker.words.add(piece.substr(0, kMaxWord), 1);
        worker.words.add(piece, 1);
      }
    }
  });
  for (const std::unique_ptr<Worker>& worker : workers_) {
    for (size_t word = 0; word < worker->words.size(); ++word)
      words_.add(worker->words.word(word), worker->words.count(word));
    worker->words.clear();
  }
  batch_.clear();
  batch_bytes_ = 0;
  if (words_.size() > max_words_) words_.keep_most_frequent(max_words_ / 2);
}

}  // namespace trireme::text
