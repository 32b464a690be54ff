#include <vector>

#include "core/fuzz.h"
#include "data/corpus_reader.h"
#include "data/json_texts.h"

// A file of JSONL through the reader: whatever its lines hold, each is taken or refused, and the
// reader gives back every byte in order.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace trireme;
  const fuzz::MemoryFile file(fuzz::text_of(data, size));
  data::CorpusReader reader({.inputs = {file.path()}, .format = data::CorpusFormat::jsonl});
  data::JsonTexts texts({"text", "b"});
  data::CorpusBatch batch;
  int64_t line = 0;
  while (reader.next(batch, 100)) {
    for (const data::CorpusPiece& piece : batch.pieces) {
      fuzz::require(piece.line > line, "lines are numbered in order");
      line = piece.line;
      fuzz::accepted([&] {
        size_t bytes = 0;
        for (const auto& of_key : texts.parse(batch.text(piece), "fuzz", piece.line))
          for (const std::string_view text : of_key) bytes += text.size();
        // Escapes make text shorter, never longer.
        fuzz::require(bytes <= piece.size, "a line holds no more text than bytes");
      });
    }
  }
  fuzz::require(reader.text_bytes() == size, "every byte is read");
  return 0;
}
