#pragma once
#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/error.h"
#include "core/file.h"

// One option is declared once, as a Field in its group's table (group.h). Flags, run files, help,
// checks, the saved run and the docs page all read that declaration.

namespace trireme::config {

using Words = std::vector<std::string>;

/// The value of any option on its way between a member and text. Paths and enum words travel as
/// strings; monostate is an optional that holds nothing.
using Value = std::variant<std::monostate, bool, int64_t, double, std::string, Words>;

/// What an option takes. flag: nothing (`--x`, `--no-x`); word: one of a list; list: one or more.
enum class Kind { flag, integer, real, text, path, word, list };

/// Allowed numbers. Bounds are doubles, exact for whole numbers up to 2^53.
struct Range {
  std::optional<double> low = {};
  std::optional<double> high = {};
  bool low_open = false;   ///< low itself is not allowed
  bool high_open = false;  ///< high itself is not allowed

  [[nodiscard]] bool contains(double x) const;
  /// As in ">= 1", "in [0, 1)"; empty when everything is allowed.
  [[nodiscard]] std::string text() const;
};
[[nodiscard]] constexpr Range at_least(double low) {
  return {.low = low};
}
[[nodiscard]] constexpr Range above(double low) {
  return {.low = low, .low_open = true};
}
/// Both bounds are allowed.
[[nodiscard]] constexpr Range between(double low, double high) {
  return {.low = low, .high = high};
}
/// low is allowed, high is not.
[[nodiscard]] constexpr Range from_to_below(double low, double high) {
  return {.low = low, .high = high, .high_open = true};
}

/// What a group's table says about one member. The default is the member's own initialiser.
struct FieldSpec {
  std::string name = {};  ///< as on the command line without dashes, "num-layers"
  Words aliases = {};     ///< other names of the same option; it is saved under `name`
  std::string help = {};  ///< a phrase without full stop
  std::string unit = {};  ///< "tokens", "iterations"; empty for none
  std::string otherwise =
      {};                   ///< default of an empty optional or list, in words: "4 x hidden-size"
  Range range = {};         ///< of a number
  Words words = {};         ///< of an enum: word k is enumerator k
  bool required = false;    ///< the initialiser is a placeholder; the user has to say it
  bool positional = false;  ///< a list that also takes the arguments without dashes
  bool saved = true;        ///< part of the run; otherwise it belongs to the command line only
};

/// Where a value was said: the command line, or a line of a run file.
struct Source {
  std::string file = {};  ///< empty for the command line
  int64_t line = 0;

  /// "command line", "run.toml:12".
  [[nodiscard]] std::string text() const;
  /// The option as one writes it there: "--lr", "lr".
  [[nodiscard]] std::string spelled(std::string_view name) const;
};

/// One option: its declaration and the way to its member in an options struct passed as void
/// pointer (whoever holds a Field holds the struct's type too, see GroupView).
struct Field : FieldSpec {
  Kind kind = Kind::text;
  bool optional = false;
  Value initial = {};
  std::function<Value(const void* options)> get = {};
  std::function<void(void* options, const Value& value)> set = {};

  /// The value of the words that follow the option on a command line (of a flag: none, true).
  /// Usage error: malformed, out of range, not one of the words, not UTF-8.
  [[nodiscard]] Value from_words(const Words& given, const Source& source) const;
  /// The same for a value that a file holds with a type. Whole numbers pass for real ones, one item
  /// for a list of one, numbers for items of a list.
  [[nodiscard]] Value from_typed(const Value& given, const Source& source) const;

  /// Whether it is called so: by its name or an alias.
  [[nodiscard]] bool is_called(std::string_view other) const;
  /// As in "a whole number >= 1 (tokens)", "one of constant, linear, cosine".
  [[nodiscard]] std::string takes() const;
  /// The default for readers: "0.1", "off", "4 x hidden-size", "required"; empty for none.
  [[nodiscard]] std::string default_text() const;

 private:
  [[nodiscard]] Value number(const std::string& word, const Source& source) const;
  void check(const Value& value, const Source& source) const;
  [[noreturn]] void refuse(const std::string& what, const Source& source,
                           const std::string& remedy) const;
};

/// A value for readers: numbers in their shortest exact form, "on" and "off", items with a space
/// between, "not set".
[[nodiscard]] std::string text_of(const Value& value);

/// "num_layers" and "num-layers" are one name; this is the latter.
[[nodiscard]] std::string normalised(std::string_view name);

namespace detail {

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

template <class T>
struct Held {
  using Type = T;
};
template <class T>
struct Held<std::optional<T>> {
  using Type = T;
};

}  // namespace detail

/// Types that a member of an options struct may have; each of them also in std::optional.
template <class T>
concept OptionValue = std::same_as<T, bool> || std::same_as<T, int64_t> ||
    std::same_as<T, double> || std::same_as<T, std::string> || std::same_as<T, Path> ||
    std::same_as<T, Words> || std::is_enum_v<T>;

template <OptionValue T>
[[nodiscard]] constexpr Kind kind_of() {
  if constexpr (std::same_as<T, bool>) return Kind::flag;
  if constexpr (std::same_as<T, int64_t>) return Kind::integer;
  if constexpr (std::same_as<T, double>) return Kind::real;
  if constexpr (std::same_as<T, std::string>) return Kind::text;
  if constexpr (std::same_as<T, Path>) return Kind::path;
  if constexpr (std::same_as<T, Words>) return Kind::list;
  if constexpr (std::is_enum_v<T>) return Kind::word;
}

template <OptionValue T>
[[nodiscard]] Value to_value(const T& member, const Words& words) {
  if constexpr (std::is_enum_v<T>) {
    const auto index = static_cast<size_t>(member);
    TRIREME_ASSERT(index < words.size(), "an option's enum has a word for each enumerator");
    return words[index];
  } else if constexpr (std::same_as<T, Path>) {
    return member.string();
  } else {
    return member;
  }
}

template <OptionValue T>
[[nodiscard]] T from_value(const Value& value, const Words& words) {
  if constexpr (std::is_enum_v<T>) {
    size_t index = 0;
    while (words.at(index) != std::get<std::string>(value)) ++index;
    return static_cast<T>(index);
  } else if constexpr (std::same_as<T, Path>) {
    return Path(std::get<std::string>(value));
  } else {
    return std::get<T>(value);
  }
}

/// Declares one member of an options struct: `field(&ModelOptions::num_layers, {.name = ...})`.
template <class Options, class Member>
requires OptionValue<typename detail::Held<Member>::Type>
[[nodiscard]] Field field(Member Options::*member, FieldSpec spec) {
  using T = typename detail::Held<Member>::Type;
  constexpr bool kOptional = detail::kIsOptional<Member>;
  Field result{std::move(spec)};
  result.kind = kind_of<T>();
  result.optional = kOptional;
  result.get = [member, words = result.words](const void* options) -> Value {
    const Member& held = static_cast<const Options*>(options)->*member;
    if constexpr (kOptional) {
      return held ? to_value<T>(*held, words) : Value{};
    } else {
      return to_value<T>(held, words);
    }
  };
  result.set = [member, words = result.words](void* options, const Value& value) {
    Member& held = static_cast<Options*>(options)->*member;
    if (kOptional && std::holds_alternative<std::monostate>(value)) {
      held = Member{};
    } else {
      held = from_value<T>(value, words);
    }
  };
  const Options fresh = {};
  result.initial = result.get(&fresh);
  return result;
}

}  // namespace trireme::config
