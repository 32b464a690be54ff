#pragma once
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "config/group.h"
#include "config/reading.h"

namespace trireme::config {

/// Version of the saved run, in its first line as `run-format`. Files written by hand may leave the
/// line out.
inline constexpr int64_t kRunFormat = 1;

/// Reads a run file: TOML without tables, one line per option, names as on the command line (`-` or
/// `_`). `file` is its name in messages. In the order of the lines. Lines whose name is in
/// `skipped` and not known are passed over. Troubles with file and line: unknown name, an option
/// twice, wrong type, value not allowed, an option that belongs to the command line only, another
/// run-format. Throws a usage error when it is not TOML at all.
void read_run_file(std::string_view toml, const std::string& file, const Names& names,
                   Reading& reading, const std::set<std::string>& skipped = {});

/// The options as a run file that can be read again: every saved field with its value, the defaults
/// too, so that it means the same when a default changes. Optionals without value are left out.
[[nodiscard]] std::string save_toml(std::span<const GroupView> groups);

/// Every field that has a value, saved or not, in a line "name = value": for comparisons.
[[nodiscard]] std::string option_lines(std::span<const GroupView> groups);

/// The options as one JSON object: numbers, strings, lists, true and false, null for what is not
/// set. Names with `_`, as programs like them. Ends with a newline.
[[nodiscard]] std::string json_text(std::span<const GroupView> groups);

}  // namespace trireme::config
