#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace trireme::config {

/// Insertions, removals, replacements and swaps of neighbours that turn one text into the other
/// (optimal string alignment).
[[nodiscard]] int edit_distance(std::string_view a, std::string_view b);

/// The known name that a mistyped one most likely meant: the first of those with the smallest
/// distance; none when even that one has less than half in common.
[[nodiscard]] std::optional<std::string> nearest(std::string_view name,
                                                 std::span<const std::string> known);

}  // namespace trireme::config
