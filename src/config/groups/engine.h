#pragma once
#include <cstdint>
#include <string>

#include "config/group.h"

namespace trireme::config {

/// What the ranks run on.
struct EngineOptions {
  std::string device = "cpu";    ///< kind of device, or the file of its library
  int64_t ranks = 1;             ///< threads of this process that stand for ranks
  int64_t threads_per_rank = 0;  ///< 0: usable cores over the local ranks

  bool operator==(const EngineOptions&) const = default;
  static const Group& group();
};

}  // namespace trireme::config
