#include <algorithm>

#include "core/fuzz.h"
#include "parallel/stages.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace trireme;
  if (size < 2) return 0;
  const int layers = data[0];
  const int p = 1 + data[1] % 8;
  const std::string_view text = fuzz::text_of(data, size).substr(2);
  parallel::Layout layout;
  if (!fuzz::accepted([&] { layout = parallel::parse_layout(text, layers, p); })) return 0;
  fuzz::require(parallel::parse_layout(layout.text(), layers, p) == layout,
                "text and parse are inverse");
  int placed = 0;
  for (int rank = 0; rank < p; ++rank) {
    for (const parallel::Chunk& chunk : layout.chunks(rank)) placed += chunk.layers;
  }
  fuzz::require(placed == layers, "every layer is placed once");
  return 0;
}
