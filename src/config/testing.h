#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "config/group.h"
#include "core/format.h"

// Shared by the tests of this room.

namespace trireme::config::testing {

enum class Colour { red, green, blue };

/// One member of every type.
struct Sample {
  bool verbose = false;
  int64_t count = 3;
  double rate = 0.5;
  std::string title = "untitled";
  std::optional<Path> folder = {};
  Colour colour = Colour::green;
  Words files = {};
  Words tags = {"a", "b"};
  std::optional<int64_t> limit = {};
  std::optional<double> share = {};
  std::optional<bool> strict = {};
  std::optional<Colour> border = {};
  int64_t must = 0;

  bool operator==(const Sample&) const = default;
  static const Group& group() {
    using S = Sample;
    static const Group table = {
        "Sample",
        "one member of every type",
        {
            field(&S::verbose, {.name = "verbose", .help = "say more"}),
            field(&S::count,
                  {.name = "count", .help = "how many", .unit = "items", .range = between(1, 10)}),
            field(&S::rate, {.name = "rate", .help = "how fast", .range = from_to_below(0, 1)}),
            field(&S::title, {.name = "title", .help = "what it is called"}),
            field(&S::folder, {.name = "folder", .help = "where", .otherwise = "nowhere"}),
            field(&S::colour,
                  {.name = "colour", .help = "which", .words = {"red", "green", "blue"}}),
            field(
                &S::files,
                {.name = "files", .help = "what to read", .otherwise = "none", .positional = true}),
            field(&S::tags, {.name = "tags", .help = "marks"}),
            field(&S::limit,
                  {.name = "limit", .help = "at most", .otherwise = "none", .range = at_least(0)}),
            field(&S::share,
                  {.name = "share", .help = "part", .otherwise = "all", .range = above(0)}),
            field(&S::strict, {.name = "strict", .help = "no mercy", .otherwise = "depends"}),
            field(&S::border, {.name = "border",
                               .help = "colour of the border",
                               .otherwise = "colour",
                               .words = {"red", "green", "blue"}}),
            field(&S::must, {.name = "must", .help = "has no default", .required = true}),
        }};
    return table;
  }
  [[nodiscard]] std::optional<Conflict> validate() const {
    if (!limit || count <= *limit) return std::nullopt;
    return Conflict{.names = {"count", "limit"},
                    .what = format("count {} is above limit {}", count, *limit),
                    .rule = "the limit holds",
                    .remedy = "use less"};
  }
};

/// "2: message" of the Error that the call throws, 2 being the exit status; "" when it throws none.
template <class Call>
std::string failure_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return format("{}: {}", error.exit_status(), error.what());
  }
  return "";
}

[[nodiscard]] inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace trireme::config::testing
