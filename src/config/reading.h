#pragma once
#include <optional>
#include <vector>

#include "config/names.h"
#include "config/troubles.h"

namespace trireme::config {

/// What a source says about one option.
struct Said {
  const Field* field;
  std::optional<Value> value;  ///< none: what was said is not a value, as a trouble tells
  Source source;
};

/// What comes of reading a command line and a run file. All of it is read, whatever is wrong in it.
struct Reading {
  std::vector<Said> said = {};
  Words notes = {};  ///< lines for the user
  Troubles troubles = {};
  bool whole = true;  ///< false: an option of ours may be meant whose value is not known

  /// Judges a name that is no option of the subcommand.
  void add_stranger(const Names& names, std::string_view name, const Words& words,
                    const Source& source);
  /// The value that `convert` makes of what was said about a field.
  template <class Convert>
  void add(const Field& field, const Source& source, Convert&& convert) {
    std::optional<Value> value;
    whole = troubles.keep([&] { value = convert(); }) && whole;
    said.push_back({&field, std::move(value), source});
  }
  /// A trouble about an option of ours.
  void add_trouble(Trouble trouble);
  /// nullptr when nothing was said about the field.
  [[nodiscard]] const Said* find(const Field& field) const;
};

}  // namespace trireme::config
