#pragma once
#include <concepts>
#include <optional>
#include <string>
#include <vector>

#include "config/field.h"

namespace trireme::config {

/// The table of one group of options, the only place that lists its fields.
struct Group {
  std::string title;  ///< "Model"
  std::string about;  ///< one phrase for the docs page
  std::vector<Field> fields;

  /// nullptr when there is none of that name or alias.
  [[nodiscard]] const Field* find(std::string_view name) const;
};

/// Fields that do not go together: what validate() of a group reports.
struct Conflict {
  Words names = {};  ///< the options concerned, the first is the one to blame
  std::string what = {};
  std::string rule = {};
  std::string remedy = {};
};

/// An options struct: plain members with initialisers, and its table.
template <class T>
concept OptionGroup = requires {
  { T::group() } -> std::same_as<const Group&>;
};

/// A group that has rules over several fields; called after each field passed its own.
template <class T>
concept HasRules = requires(const T& options) {
  { options.validate() } -> std::same_as<std::optional<Conflict>>;
};

/// A table beside the struct it describes: what can be printed, saved and compared. Does not own.
struct GroupView {
  const Group* group;
  const void* options;
};

template <OptionGroup T>
[[nodiscard]] GroupView view(const T& options) {
  return {&T::group(), &options};
}

/// A field whose values differ, as text.
struct Difference {
  std::string name;
  std::string left;
  std::string right;
  bool operator==(const Difference&) const = default;
};

/// In the order of the table. Both views are of the same group.
[[nodiscard]] std::vector<Difference> differences(GroupView left, GroupView right);

template <OptionGroup T>
[[nodiscard]] std::vector<Difference> differences(const T& left, const T& right) {
  return differences(view(left), view(right));
}

/// Checks ranges, words and the group's own rules of a struct that was filled by a program (options
/// that were read are checked already). Usage error; `where` opens its message.
void check_fields(GroupView options, const std::string& where);
[[noreturn]] void refuse(const Conflict& conflict, const std::string& where);

template <OptionGroup T>
void check(const T& options, const std::string& where) {
  check_fields(view(options), where);
  if constexpr (HasRules<T>) {
    if (const auto conflict = options.validate()) refuse(*conflict, where);
  }
}

}  // namespace trireme::config
