#include "config/option_set.h"

#include <algorithm>
#include <set>

#include "config/command_line.h"
#include "config/groups/all.h"
#include "config/help.h"
#include "config/run_file.h"
#include "core/format.h"

namespace trireme::config {

OptionSet::OptionSet(std::string command) : command_(std::move(command)) {
  add(common_);
}

void OptionSet::bind(const Group& group, void* options, Rules rules) {
  groups_.push_back({&group, options});
  if (rules) rules_.push_back(std::move(rules));
  for (const Field& field : group.fields) {
    const Bound& added = bound_.emplace_back(Bound{field, options, std::nullopt});
    names_.add(added.field);
    if (field.positional) {
      TRIREME_ASSERT(positional_ == nullptr && field.kind == Kind::list,
                     "a subcommand has at most one positional field, and it is a list");
      positional_ = &added.field;
    }
  }
}

OptionSet::Bound& OptionSet::bound(std::string_view name) {
  const auto it = std::find_if(bound_.begin(), bound_.end(),
                               [&](const Bound& b) { return b.field.name == name; });
  TRIREME_ASSERT(it != bound_.end(), "the option is one of the subcommand's");
  return *it;
}

const OptionSet::Bound& OptionSet::bound(std::string_view name) const {
  return const_cast<OptionSet*>(this)->bound(name);
}

void OptionSet::require(std::string_view name, bool required) {
  bound(name).field.required = required;
}

Words OptionSet::required_here() const {
  Words names;
  for (const GroupView& view : groups_) {
    for (const Field& field : view.group->fields) {
      if (!field.required && bound(field.name).field.required) names.push_back(field.name);
    }
  }
  return names;
}

void OptionSet::apply(const std::vector<Said>& said) {
  for (const auto& [field, value, source] : said) {
    Bound& target = bound(field->name);
    if (value) target.field.set(target.options, *value);
    target.source = source;
  }
}

void OptionSet::read(std::span<const std::string> arguments) {
  if (asks_for_help(arguments)) {
    common_.help = true;
    return;
  }
  Reading reading;
  read_command_line(arguments, names_, positional_, reading);
  const std::vector<Said> flags = std::move(reading.said);
  apply(flags);
  if (common_.config) {
    const std::string file = common_.config->string();
    reading.said.clear();
    read_run_file(read_file(file), file, names_, reading);
    apply(reading.said);
    apply(flags);
  }
  finish(std::move(reading));
}

void OptionSet::read_saved(std::string_view toml, const std::string& file, OtherGroups others) {
  std::set<std::string> skipped;
  if (others == OtherGroups::skip) {
    for (const Group* group : all_groups()) {
      for (const Field& field : group->fields) skipped.insert(field.name);
    }
  }
  Reading reading;
  read_run_file(toml, file, names_, reading, skipped);
  apply(reading.said);
  finish(std::move(reading));
}

void OptionSet::finish(Reading reading) {
  Words missing;
  for (const auto& [field, options, source] : bound_) {
    if (field.required && !source) missing.push_back("--" + field.name);
  }
  if (!missing.empty()) {
    const bool one = missing.size() == 1;
    reading.add_trouble(
        {.where = command_,
         .what = format("{} {} missing", fmt::join(missing, ", "), one ? "is" : "are"),
         .rule = format("{} no default", one ? "it has" : "they have"),
         .remedy =
             format("give {} on the command line or in a file for --config", one ? "it" : "them")});
  }
  // Rules speak of values, which are the user's only if all were understood.
  for (const Rules& rules : rules_) {
    if (!reading.whole) break;
    if (const auto conflict = rules()) reading.troubles.add(trouble_of(*conflict));
  }
  reading.troubles.tell(command_);
  notes_ = std::move(reading.notes);
}

std::optional<Source> OptionSet::source_of(std::string_view name) const {
  return bound(name).source;
}

Trouble OptionSet::trouble_of(const Conflict& conflict) const {
  Words places;
  for (const std::string& name : conflict.names) {
    const auto source = source_of(name);
    if (!source) continue;
    const std::string place = source->text();
    if (std::find(places.begin(), places.end(), place) == places.end()) places.push_back(place);
  }
  return {.where = places.empty() ? command_ : format("{}", fmt::join(places, " and ")),
          .what = conflict.what,
          .rule = conflict.rule,
          .remedy = conflict.remedy};
}

void OptionSet::refuse(const Conflict& conflict) const {
  fail_usage(trouble_of(conflict));
}

std::vector<GroupView> OptionSet::views() const {
  return {groups_.begin() + 1, groups_.end()};
}

std::string OptionSet::help(const std::string& about, const std::string& examples,
                            int columns) const {
  std::string usage = format("usage: {} [options]", command_);
  if (positional_ != nullptr) {
    const std::string name = metavar(*positional_);
    usage += positional_->required ? format(" {}...", name) : format(" [{}...]", name);
  }
  std::string text = usage + "\n\n" + wrapped(about, columns, 0);
  if (const megatron::Script* replaced = script()) {
    text += wrapped(format("The options of Megatron-LM's {} can be pasted here: trireme options "
                           "--page megatron says what becomes of each.",
                           replaced->name),
                    columns, 0);
  }
  // The common group last: what is particular comes first.
  auto order = groups_;
  std::rotate(order.begin(), order.begin() + 1, order.end());
  for (const GroupView& view : order) {
    std::vector<const Field*> fields;
    for (const auto& [field, options, source] : bound_) {
      // By name: a struct and its first member's struct have one address.
      if (view.group->find(field.name) != nullptr) fields.push_back(&field);
    }
    text += format("\n{}\n{}", view.group->title, help_of(fields, columns));
  }
  if (!examples.empty()) text += "\nExamples\n" + indented(examples, 2);
  return text;
}

}  // namespace trireme::config
