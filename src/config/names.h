#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "config/field.h"
#include "config/megatron/script.h"

namespace trireme::config {

/// How many words of a command line belong to an option.
[[nodiscard]] megatron::Takes words_of(const Field& field);

/// An option of other subcommands.
struct Elsewhere {
  const Field* field = nullptr;
  Words commands = {};  ///< "trireme train"
};
/// Who has an option of that name; none: nobody.
using AskOthers = std::function<std::optional<Elsewhere>(std::string_view name)>;

/// What names mean to one subcommand: its own options and, of those that are none, what there is to
/// say about them: Megatron-LM's, other subcommands', mistyped ones. Names may be written with `_`.
/// Does not own the fields.
class Names {
 public:
  /// Names and aliases are unique within a subcommand.
  void add(const Field& field);
  /// The script of Megatron-LM's whose options are judged by its table.
  void replace(const megatron::Script& script) { script_ = &script; }
  [[nodiscard]] const megatron::Script* script() const { return script_; }
  void ask(AskOthers others) { others_ = std::move(others); }

  /// The option of that name or alias; nullptr when there is none.
  [[nodiscard]] const Field* find(std::string_view name) const;

  /// What a command line means by a name.
  struct Meaning {
    const Field* field = nullptr;                      ///< none: a stranger
    bool off = false;                                  ///< `no-x` of the flag x
    megatron::Takes takes = megatron::Takes::nothing;  ///< words that belong to a stranger
  };
  [[nodiscard]] Meaning meaning(std::string_view name) const;

  /// What becomes of a stranger that was said with these words: nothing, a line for the notes (it
  /// is so here in any case) or a trouble.
  struct Judgement {
    std::string note = {};
    std::optional<Trouble> trouble = {};
    bool may_be_ours = false;  ///< mistyped, so that a value of ours is now missing
  };
  [[nodiscard]] Judgement judge(std::string_view name, const Words& words,
                                const Source& source) const;

 private:
  [[nodiscard]] const Field* find_negated(std::string_view name) const;
  [[nodiscard]] const megatron::Option* find_foreign(std::string_view name) const;
  [[nodiscard]] std::optional<std::string> nearest_to(std::string_view name,
                                                      const Source& source) const;

  std::map<std::string, const Field*, std::less<>> fields_;
  const megatron::Script* script_ = nullptr;
  AskOthers others_ = {};
};

}  // namespace trireme::config
