#pragma once
#include <span>
#include <string_view>

#include "app/ranks.h"
#include "config/group.h"
#include "train/agreement.h"

namespace trireme::app {

/// Throws on every rank, with the same words, unless all run the same build of the program with the
/// same subcommand and options, and have the same of what these name: found at start rather than by
/// numbers that make no sense, or ranks that wait for each other. A collective.
void require_one_mind(LocalRank& rank, std::string_view subcommand,
                      std::span<const config::GroupView> options, const train::Subject& named);

}  // namespace trireme::app
