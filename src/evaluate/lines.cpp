#include "evaluate/lines.h"

#include "core/error.h"
#include "core/format.h"
#include "data/corpus_reader.h"

namespace trireme::evaluate {

std::string Line::text() const {
  return format("{}:{}", file, number);
}

void refuse(const Line& line, std::string what, std::string rule) {
  fail({.where = line.text(),
        .what = std::move(what),
        .rule = std::move(rule),
        .remedy = "correct the line or take it out"});
}

void for_each_line(const Path& file, int64_t limit,
                   const std::function<void(std::string_view text, const Line& line)>& take) {
  constexpr size_t kBatchBytes = size_t{1} << 20;
  data::CorpusReader reader({.inputs = {file}, .format = data::CorpusFormat::jsonl});
  data::CorpusBatch batch;
  int64_t taken = 0;
  const std::string name = file.string();
  while (taken < limit && reader.next(batch, kBatchBytes)) {
    for (const data::CorpusPiece& piece : batch.pieces) {
      if (taken++ == limit) return;
      take(batch.text(piece), {.file = name, .number = piece.line});
    }
  }
  if (taken > 0) return;
  fail({.where = name,
        .what = "has no line",
        .rule = "a task has at least one example",
        .remedy = "give a JSONL file with an example on each line"});
}

}  // namespace trireme::evaluate
