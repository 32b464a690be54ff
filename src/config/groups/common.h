#pragma once
#include <optional>

#include "config/group.h"

namespace trireme::config {

/// What every subcommand takes; OptionSet adds and obeys it.
struct CommonOptions {
  std::optional<Path> config = {};
  bool help = false;

  bool operator==(const CommonOptions&) const = default;
  static const Group& group();
};

}  // namespace trireme::config
