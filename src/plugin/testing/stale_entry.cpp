// A plugin of another build than the program that opens it.

#include "plugin/abi.h"

extern "C" __attribute__((visibility("default"))) const trireme::plugin::abi::Table*
trireme_plugin() noexcept {
  using trireme::plugin::abi::Table;
  static constexpr Table kTable = {.version = trireme::plugin::abi::kVersion,
                                   .bytes = sizeof(Table),
                                   .build_id = "0.0.0-of-yesterday",
                                   .name = "stale"};
  return &kTable;
}
