#pragma once
#include <span>
#include <string>
#include <vector>

#include "config/reading.h"

namespace trireme::config {

/// Reads the arguments behind a subcommand's name, in their order:
///
///   --name value, --name=value      one value
///   --name a b c                    a list, up to the next option
///   --name, --no-name               a flag
///   a b c                           values of the positional field, where there is one; they may
///                                   be in several places
///   --                              everything behind it is positional
///
/// A value may begin with one dash ("-1"), but with two only in the form --name=value.
/// Troubles: unknown name, missing or malformed value, an option given twice, an argument that
/// belongs to nothing. (Not CLI11: it would split words no shorter, and the messages, conversions
/// and checks are the fields' own.)
void read_command_line(std::span<const std::string> arguments, const Names& names,
                       const Field* positional, Reading& reading);

/// Whether the arguments ask for help, at any place before a "--".
[[nodiscard]] bool asks_for_help(std::span<const std::string> arguments);

}  // namespace trireme::config
