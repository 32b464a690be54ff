#include "config/megatron/script.h"

#include <algorithm>
#include <charconv>

#include "config/megatron/sections.h"
#include "core/format.h"

namespace trireme::config::megatron {
namespace {

std::optional<double> number(const std::string& word) {
  double value = 0;
  const char* const end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

bool same_value(const std::string& a, const std::string& b) {
  const auto x = number(a);
  const auto y = number(b);
  return x && y ? *x == *y : a == b;
}

void add(Section& section, List names, const Option& like) {
  for (const char* name : names) {
    section.options.push_back(like);
    section.options.back().name = name;
  }
}

}  // namespace

bool Option::accepts(std::span<const std::string> words) const {
  return values.empty() || std::all_of(words.begin(), words.end(), [&](const std::string& word) {
           return std::any_of(values.begin(), values.end(),
                              [&](const std::string& value) { return same_value(word, value); });
         });
}

std::string Option::remedy() const {
  if (!instead.empty()) return instead;
  return values.empty() ? "" : format("use {} or leave it out", fmt::join(values, ", "));
}

const Option* Script::find(std::string_view wanted) const {
  const std::string dashed = normalised(wanted);
  for (const Section& section : sections) {
    for (const Option& option : section.options) {
      if (option.name == dashed) return &option;
    }
  }
  return nullptr;
}

void same(Section& section, List names) {
  add(section, names, {.name = "", .status = Status::same});
}

void always(Section& section, List names, const char* note) {
  add(section, names, {.name = "", .status = Status::always, .note = note});
}

void always_any(Section& section, List names, const char* note) {
  add(section, names, {.name = "", .status = Status::always, .takes = Takes::one, .note = note});
}

void always_at(Section& section, const char* name, List values, const char* note,
               const char* instead) {
  add(section, {name},
      {.name = "",
       .status = Status::always,
       .takes = Takes::one,
       .values = {values.begin(), values.end()},
       .note = note,
       .instead = instead});
}

void refused(Section& section, Takes takes, List names, const char* note, const char* instead) {
  add(section, names,
      {.name = "", .status = Status::refused, .takes = takes, .note = note, .instead = instead});
}

const Script& pretrain_gpt() {
  static const Script script = {
      "pretrain_gpt.py",
      {model_section(), positions_section(), batch_section(), optimizer_section(),
       precision_section(), kernels_section(), parallel_section(), reduction_section(),
       memory_section(), data_section(), tokenizer_section(), checkpoint_section(),
       logging_section(), experts_section(), launch_section(), other_section()}};
  return script;
}

}  // namespace trireme::config::megatron
