#pragma once
#include <string>
#include <string_view>

#include "schedule/pipeline.h"

// Versioned text forms; docs/formats.md.

namespace trireme::schedule {

/// One rank's schedule: a header line and one line of actions.
[[nodiscard]] std::string print(const Schedule& schedule);
/// Reads print()'s form. Throws with the line and the word that is wrong.
[[nodiscard]] Schedule parse(std::string_view text);

/// A pipeline's: a header line, then for each rank a line with its number and its actions.
[[nodiscard]] std::string print(const Pipeline& pipeline);
/// Reads print()'s form; a single rank's form is a pipeline of one. What is read is well written;
/// whether it is a schedule, check() says. name: what messages call it, a file.
[[nodiscard]] Pipeline parse_pipeline(std::string_view text, std::string_view name = "schedule");

}  // namespace trireme::schedule
