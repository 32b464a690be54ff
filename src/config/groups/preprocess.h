#pragma once
#include <cstdint>

#include "config/group.h"

namespace trireme::config {

/// From text to token files.
struct PreprocessOptions {
  Words input = {};
  Path output_prefix = {};
  Words json_keys = {"text"};
  bool append_eod = false;
  int64_t workers = 0;  ///< threads; 0: usable cores

  bool operator==(const PreprocessOptions&) const = default;
  static const Group& group();
};

}  // namespace trireme::config
