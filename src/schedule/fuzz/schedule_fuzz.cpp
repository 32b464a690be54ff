#include "core/fuzz.h"
#include "schedule/action.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace trireme;
  schedule::Schedule read;
  if (!fuzz::accepted([&] { read = schedule::parse(fuzz::text_of(data, size)); })) return 0;
  fuzz::require(schedule::parse(schedule::print(read)) == read, "print and parse are inverse");
  return 0;
}
