#include "checkpoint/manifest.h"
#include "core/fuzz.h"

// The part of a rank, which no checksum guards; a manifest is the same content with one.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace trireme;
  checkpoint::Contents read;
  const auto parse = [](std::string_view text) {
    return checkpoint::contents_from_json(text, "fuzz");
  };
  if (!fuzz::accepted([&] { read = parse(fuzz::text_of(data, size)); })) return 0;
  fuzz::require(parse(to_json(read)) == read, "writing and reading are inverse");
  fuzz::accepted([&] { require_whole(read, "fuzz"); });
  return 0;
}
