#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

// The environment is read here and nowhere else (a test searches for it), so that one page,
// docs/environment.md, lists every variable.

namespace trireme {

/// An environment variable that something of this repository reads: the program, its tests, ./dev.
struct EnvironmentVariable {
  std::string_view name;
  std::string_view reader;     ///< as in "the tests of text/"
  std::string_view meaning;    ///< a phrase without full stop
  std::string_view otherwise;  ///< what holds when it is not set
};

/// All of them, in the order of the page. A new one is a line of the table in environment.cpp.
[[nodiscard]] std::span<const EnvironmentVariable> environment_variables();

/// The value of one of these variables; none when it is not set or empty.
[[nodiscard]] std::optional<std::string> environment_value(std::string_view name);

}  // namespace trireme
