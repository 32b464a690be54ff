#pragma once
#include <map>
#include <string>
#include <string_view>

#include "config/field.h"

namespace trireme::config {

/// The options that one subcommand knows, by name. Does not own the fields.
class FieldIndex {
 public:
  /// Names are unique within a subcommand.
  void add(const Field& field);
  /// nullptr when there is none. The name may be written with `_`.
  [[nodiscard]] const Field* find(std::string_view name) const;
  /// Usage error that names the nearest option; on the command line `--no-x` counts for flags.
  [[noreturn]] void unknown(std::string_view name, const Source& source) const;

 private:
  std::map<std::string, const Field*, std::less<>> fields_;
};

/// What a source says about one option.
struct Said {
  const Field* field;
  Value value;
  Source source;
};

}  // namespace trireme::config
