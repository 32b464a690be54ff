#include <algorithm>

#include "core/fuzz.h"
#include "data/sample_index_file.h"

namespace {

using namespace trireme;
using namespace trireme::data;

/// Bytes as the reader gets them from a mapping: aligned, and nothing behind them.
std::shared_ptr<std::byte> aligned(const uint8_t* data, size_t size) {
  const std::shared_ptr<std::byte> bytes(new std::byte[size + 1],
                                         std::default_delete<std::byte[]>());
  std::copy_n(reinterpret_cast<const std::byte*>(data), size, bytes.get());
  return bytes;
}

/// Makes both checksums right, by the words of docs/formats.md.
void mend(std::span<std::byte> file) {
  constexpr size_t kHead = 136;
  if (file.size() < kHead) return;
  const auto put = [&](size_t offset, const std::string& digits) {
    std::copy_n(std::as_bytes(std::span(digits)).begin(), 16,
                file.begin() + static_cast<std::ptrdiff_t>(offset));
  };
  // One block, or none.
  const std::string blocks = file.size() > kHead ? checksum(file.subspan(kHead)) : "";
  put(104, checksum(std::as_bytes(std::span(blocks))));
  put(120, checksum(file.first(120)));
}

/// Everything that a reader of samples would touch.
void visit(const SampleIndex& index) {
  const SequenceRange range = index.plan().range;
  for (int64_t k = 0; k < index.samples(); ++k) {
    const SamplePoint point = index.point(index.row(k));
    const int32_t sequence = index.sequences()[static_cast<size_t>(point.position)];
    fuzz::require(sequence >= range.begin && sequence < range.end, "sequences are of the range");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ThreadPool pool(1);
  // As it is, and with both checksums made right, so that what lies behind them is reached.
  for (const bool mended : {false, true}) {
    const std::shared_ptr<std::byte> bytes = aligned(data, size);
    if (mended) mend({bytes.get(), size});
    fuzz::accepted([&] { visit(parse_index(bytes, size, "fuzz", pool).index); });
  }
  return 0;
}
