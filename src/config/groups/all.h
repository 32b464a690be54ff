#pragma once
#include <span>

#include "config/group.h"

namespace trireme::config {

/// Every group there is, in the order of the docs page.
[[nodiscard]] std::span<const Group* const> all_groups();

}  // namespace trireme::config
