#include "config/names.h"

#include "config/nearest.h"
#include "core/format.h"

namespace trireme::config {
namespace {

using megatron::Status;
using megatron::Takes;

// What is said about an option of Megatron-LM's. `spelled` is as the user wrote it.
Names::Judgement judge_foreign(const megatron::Option& option, const std::string& spelled,
                               const Words& words, const Source& source) {
  const bool flag = option.takes == Takes::nothing;
  // A run file says that a flag is off, which is what leaving it out says.
  if (flag && words == Words{"false"}) return {};
  const bool plain_flag = words.empty() || words == Words{"true"};
  Trouble trouble = {.where = source.text()};
  if (flag && !plain_flag) {
    trouble.what = format("{} was given '{}'", spelled, fmt::join(words, " "));
    trouble.rule = "it takes no value (a flag)";
    return {.trouble = trouble};
  }
  const std::string shown = flag ? spelled : format("{} {}", spelled, fmt::join(words, " "));
  if (option.status == Status::refused) {
    trouble.what = format("{} is not supported", spelled);
    trouble.rule = option.note;
    trouble.remedy = option.remedy();
    return {.trouble = trouble};
  }
  if (option.takes == Takes::one && words.size() != 1) {
    trouble.what = words.empty() ? format("{} has no value", spelled)
                                 : format("{} has {} values", spelled, words.size());
    trouble.rule = "it takes one";
    return {.trouble = trouble};
  }
  if (!option.accepts(words)) {
    trouble.what = format("{} is not supported", shown);
    trouble.rule = option.note;
    trouble.remedy = option.remedy();
    return {.trouble = trouble};
  }
  return {.note = format("{}: {}", shown, option.note)};
}

}  // namespace

megatron::Takes words_of(const Field& field) {
  if (field.kind == Kind::flag) return Takes::nothing;
  return field.kind == Kind::list ? Takes::several : Takes::one;
}

void Names::add(const Field& field) {
  bool added = fields_.emplace(field.name, &field).second;
  for (const std::string& alias : field.aliases) {
    added = fields_.emplace(alias, &field).second && added;
  }
  TRIREME_ASSERT(added, "two options of a subcommand have one name");
}

const Field* Names::find(std::string_view name) const {
  const auto it = fields_.find(normalised(name));
  return it == fields_.end() ? nullptr : it->second;
}

const Field* Names::find_negated(std::string_view name) const {
  const std::string dashed = normalised(name);
  if (dashed.rfind("no-", 0) != 0) return nullptr;
  const Field* field = find(dashed.substr(3));
  return field != nullptr && field->kind == Kind::flag ? field : nullptr;
}

const megatron::Option* Names::find_foreign(std::string_view name) const {
  const megatron::Option* option = script_ == nullptr ? nullptr : script_->find(name);
  return option == nullptr || option->status == Status::same ? nullptr : option;
}

Names::Meaning Names::meaning(std::string_view name) const {
  if (const Field* field = find(name)) return {.field = field};
  // Before the negations: --no-load-optim is a name of Megatron-LM's.
  if (const megatron::Option* option = find_foreign(name)) return {.takes = option->takes};
  if (const Field* flag = find_negated(name)) return {.field = flag, .off = true};
  const auto elsewhere = others_ ? others_(normalised(name)) : std::nullopt;
  return {.takes = elsewhere ? words_of(*elsewhere->field) : Takes::several};
}

Names::Judgement Names::judge(std::string_view name, const Words& words,
                              const Source& source) const {
  const std::string spelled = source.spelled(name);
  if (const megatron::Option* option = find_foreign(name)) {
    return judge_foreign(*option, spelled, words, source);
  }
  Trouble trouble = {.where = source.text()};
  if (const auto elsewhere = others_ ? others_(normalised(name)) : std::nullopt) {
    trouble.what = format("{} is no option of this subcommand", spelled);
    trouble.rule = format("it belongs to {}", fmt::join(elsewhere->commands, ", "));
    trouble.remedy = "leave it out here";
    return {.trouble = trouble};
  }
  const auto meant = nearest_to(name, source);
  trouble.what = format("there is no option {}", spelled);
  trouble.remedy =
      meant ? format("the nearest is {}", source.spelled(*meant)) : "--help lists all options";
  return {.trouble = trouble, .may_be_ours = true};
}

std::optional<std::string> Names::nearest_to(std::string_view name, const Source& source) const {
  Words known;
  for (const auto& [known_name, field] : fields_) {
    if (field->saved || source.file.empty()) known.push_back(known_name);
    if (field->kind == Kind::flag && source.file.empty()) known.push_back("no-" + known_name);
  }
  return nearest(normalised(name), known);
}

}  // namespace trireme::config
