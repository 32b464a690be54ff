#include <algorithm>
#include <cstring>

#include "core/fuzz.h"
#include "data/decompressor.h"

namespace {

using namespace trireme;

// The text, and whether the stream was accepted, for input and output in pieces of so many bytes.
std::pair<std::string, bool> read_all(std::string_view bytes, size_t piece) {
  constexpr size_t kEnough = size_t{1} << 22;  // small files can hold very much text
  size_t at = 0;
  std::string text;
  const bool whole = fuzz::accepted([&] {
    data::Decompressor stream(
        data::Compression::gzip,
        [&](std::span<char> out) {
          const size_t got = std::min({piece, out.size(), bytes.size() - at});
          std::memcpy(out.data(), bytes.data() + at, got);
          at += got;
          return got;
        },
        "fuzz");
    std::string buffer(std::max<size_t>(piece, 64), '\0');
    while (text.size() < kEnough) {
      const size_t got = stream.read(buffer);
      if (got == 0) break;
      text.append(buffer, 0, got);
    }
  });
  return {text, whole && text.size() < kEnough};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes = fuzz::text_of(data, size);
  const auto [text, whole] = read_all(bytes, 1 << 16);
  if (!whole) return 0;
  const auto [again, also_whole] = read_all(bytes, 7);
  fuzz::require(also_whole && text == again, "the text does not depend on the pieces");
  return 0;
}
