#include <algorithm>
#include <fstream>
#include <vector>

#include "core/fuzz.h"
#include "data/indexed_dataset.h"
#include "data/inspect.h"

// The first two bytes say how long .bin is, the rest is .idx. What the reader accepts can be read
// whole, and its counts agree.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace trireme;
  if (size < 2) return 0;
  const size_t bin_bytes = data[0] + size_t{256} * data[1];
  const std::string_view idx = fuzz::text_of(data + 2, size - 2);
  static const Path prefix =
      std::filesystem::temp_directory_path() / format("trireme-idx-fuzz-{}", ::getpid());
  // New files each time: the reader maps them.
  std::filesystem::remove(data::index_path(prefix));
  std::filesystem::remove(data::tokens_path(prefix));
  std::ofstream(data::index_path(prefix), std::ios::binary)
      .write(idx.data(), static_cast<std::streamsize>(idx.size()));
  std::ofstream(data::tokens_path(prefix), std::ios::binary) << std::string(bin_bytes, '\x01');
  fuzz::accepted([&] {
    const data::IndexedDataset dataset(prefix);
    int64_t tokens = 0;
    std::vector<int32_t> read;
    for (int64_t sequence = 0; sequence < dataset.sequences(); ++sequence) {
      read.resize(static_cast<size_t>(dataset.length(sequence)));
      dataset.read(sequence, 0, read);
      tokens += dataset.length(sequence);
    }
    fuzz::require(tokens == dataset.tokens(), "the sequences hold the tokens");
    fuzz::require(dataset.first_sequence(0) == 0, "documents begin at the first sequence");
    for (int64_t document = 0; document < dataset.documents(); ++document) {
      fuzz::require(dataset.first_sequence(document) <= dataset.first_sequence(document + 1),
                    "documents follow one another");
    }
    fuzz::require(dataset.first_sequence(dataset.documents()) == dataset.sequences(),
                  "the documents hold the sequences");
    int64_t counted = 0;
    for (const auto& bucket : data::length_statistics(dataset).buckets) counted += bucket.sequences;
    fuzz::require(counted == dataset.sequences(), "every sequence has a length");
  });
  std::filesystem::remove(data::index_path(prefix));
  std::filesystem::remove(data::tokens_path(prefix));
  return 0;
}
