#include "checkpoint/safetensors.h"
#include "core/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace trireme;
  const fuzz::MemoryFile bytes(fuzz::text_of(data, size));
  fuzz::accepted([&] {
    const checkpoint::SafetensorsFile file(bytes.path());
    uint64_t total = file.head().size();
    for (size_t i = 0; i < file.tensors().size(); ++i) {
      fuzz::require(file.find(file.tensors()[i].name) == i, "a tensor is found under its name");
      // The checksum reads every byte.
      fuzz::require(!checksum(file.bytes(i)).empty(), "a tensor's bytes can be read");
      total += file.bytes(i).size();
    }
    fuzz::require(total == size, "head and tensors are the whole file");
  });
  return 0;
}
