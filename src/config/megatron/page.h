#pragma once
#include <span>
#include <string>
#include <vector>

#include "config/group.h"
#include "config/megatron/script.h"

namespace trireme::config::megatron {

/// A script beside the subcommand that stands for it.
struct Counterpart {
  const Script* script = nullptr;
  std::string command = {};  ///< "trireme train"
  std::vector<const Group*> groups = {};
};

/// The table of a script for a terminal.
[[nodiscard]] std::string table_of(const Counterpart& counterpart);
/// The same as a chapter of a Markdown page.
[[nodiscard]] std::string markdown_of(const Counterpart& counterpart);
/// All of them as one JSON list, for programs.
[[nodiscard]] std::string json_of(std::span<const Counterpart> counterparts);

}  // namespace trireme::config::megatron
