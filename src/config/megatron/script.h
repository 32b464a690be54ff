#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/field.h"

// What becomes of Megatron-LM's options, so that a launch script that is pasted here either works
// or says what to change. Names, and how many words follow each, are facts of Megatron-LM's
// argument tables from 2021 to 2026.

namespace trireme::config::megatron {

enum class Status {
  same,     ///< an option of ours: its field says everything
  always,   ///< what it asks for is so here in any case; accepted, with a note
  refused,  ///< not to be had; the message says why and what to change
};

/// How many words follow a name on a command line.
enum class Takes { nothing, one, several };

/// One option of one of Megatron-LM's scripts.
struct Option {
  std::string name;  ///< without dashes
  Status status = Status::same;
  Takes takes = Takes::nothing;  ///< of `same` the field knows it
  Words values = {};             ///< of `always`: those that are so here; empty for any
  std::string note = {};         ///< always: what is so; refused: why not
  std::string instead = {};      ///< what to change; empty: one of the values, or leave it out

  /// What a user can do about a refused option or value.
  [[nodiscard]] std::string remedy() const;
  /// Whether these words ask for what is so here (status always). Numbers compare as numbers.
  [[nodiscard]] bool accepts(std::span<const std::string> words) const;
};

/// Options about one subject, a chapter of the docs page.
struct Section {
  std::string title;
  std::vector<Option> options;
};

/// One of Megatron-LM's scripts.
struct Script {
  std::string name;  ///< "pretrain_gpt.py"
  std::vector<Section> sections;

  /// nullptr when the table has none of that name. It leaves out what is for other models only.
  [[nodiscard]] const Option* find(std::string_view name) const;
};

[[nodiscard]] const Script& pretrain_gpt();
[[nodiscard]] const Script& preprocess_data();
/// The zero-shot tasks of a GPT.
[[nodiscard]] const Script& tasks();

}  // namespace trireme::config::megatron
