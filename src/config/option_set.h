#pragma once
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/group.h"
#include "config/groups/common.h"
#include "config/reading.h"

namespace trireme::config {

/// What happens to options of groups that a set does not have (all_groups()).
enum class OtherGroups { refuse, skip };

/// The options of one subcommand: groups bound to structs that read() fills.
///
///   ModelOptions model;
///   OptionSet options("trireme train");
///   options.add(model);
///   options.read(arguments);
///
/// Holds pointers to the structs, which have to outlive it. read() is called once.
class OptionSet {
 public:
  /// command is what the user typed, for messages and help.
  explicit OptionSet(std::string command);
  OptionSet(const OptionSet&) = delete;
  OptionSet& operator=(const OptionSet&) = delete;

  /// Adds a group; its names must be new here.
  template <OptionGroup T>
  void add(T& options) {
    Rules rules;
    if constexpr (HasRules<T>) rules = [&options] { return options.validate(); };
    bind(T::group(), &options, std::move(rules));
  }

  /// For this subcommand: an option that the table leaves optional has to be said, or one that the
  /// table requires has not.
  void require(std::string_view name, bool required = true);

  /// The subcommand stands for a script of Megatron-LM's: its options are judged by its table.
  void replace(const megatron::Script& script) { names_.replace(script); }
  [[nodiscard]] const megatron::Script* script() const { return names_.script(); }

  /// Whom to ask about options that only other subcommands have.
  void ask(AskOthers others) { names_.ask(std::move(others)); }

  /// Reads the arguments and the run file that their --config names; flags win over the file. Then
  /// checks that what is required was said, and the rules of the groups. Everything that is wrong
  /// is told in one usage error; a run file that cannot be read is a run error. Does nothing more
  /// when help is asked for.
  void read(std::span<const std::string> arguments);

  /// After read(): lines for the user about options that were accepted and say nothing new here.
  [[nodiscard]] const Words& notes() const { return notes_; }

  /// The same from a saved run alone; `file` is its name in messages. Skipping other groups serves
  /// those who need a part of it, as the model's options from a trainer's checkpoint.
  void read_saved(std::string_view toml, const std::string& file,
                  OtherGroups others = OtherGroups::refuse);

  [[nodiscard]] bool help_wanted() const { return common_.help; }

  /// Where an option was said; none: it has its default.
  [[nodiscard]] std::optional<Source> source_of(std::string_view name) const;

  /// Usage error of a rule, opened by the places where its options were said.
  [[noreturn]] void refuse(const Conflict& conflict) const;

  /// The groups for save_toml(), json_text() and comparisons, without the common one.
  [[nodiscard]] std::vector<GroupView> views() const;

  /// Options whose requirement differs here from their group's table.
  [[nodiscard]] Words required_here() const;

  /// The text of --help: usage, about, options by group, examples (lines as one types them, empty
  /// for none), for lines of so many columns.
  [[nodiscard]] std::string help(const std::string& about, const std::string& examples,
                                 int columns) const;

 private:
  using Rules = std::function<std::optional<Conflict>()>;
  struct Bound {
    Field field;  // the table's, with this subcommand's requirement
    void* options = nullptr;
    std::optional<Source> source = {};
  };

  void bind(const Group& group, void* options, Rules rules);
  void apply(const std::vector<Said>& said);
  /// Checks what concerns several options and tells all troubles.
  void finish(Reading reading);
  [[nodiscard]] Trouble trouble_of(const Conflict& conflict) const;
  [[nodiscard]] Bound& bound(std::string_view name);
  [[nodiscard]] const Bound& bound(std::string_view name) const;

  std::string command_;
  CommonOptions common_;
  std::vector<GroupView> groups_;
  std::vector<Rules> rules_;
  std::deque<Bound> bound_;  // in the order of the groups' tables; addresses are kept by names_
  Names names_;
  const Field* positional_ = nullptr;
  Words notes_;
};

}  // namespace trireme::config
