#pragma once
#include <string>

#include "config/group.h"

namespace trireme::config {

/// Which token files are trained on. What the items of data_path mean is the data room's business
/// (one prefix, prefixes, or weights and prefixes in turn).
struct DataOptions {
  Words data_path = {};
  std::string split = "969, 30, 1";  ///< weights of train, validation, test

  bool operator==(const DataOptions&) const = default;
  static const Group& group();
};

}  // namespace trireme::config
