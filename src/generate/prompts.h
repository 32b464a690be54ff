#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace trireme::generate {

/// A text to continue.
struct Prompt {
  std::string text;
  std::string where;  ///< for messages: "--prompt", "prompts.txt line 3"
};

/// The prompts of a file's bytes, `name` in messages.
///   text   a prompt is a line, without its end (line feed, with or without carriage return); empty
///          lines are left out
///   jsonl  a line is a JSON object whose "prompt" is the text, or else its "text"; other keys are
///          allowed, blank lines are left out. Throws with file and line for anything else.
[[nodiscard]] std::vector<Prompt> prompts_of_text(std::string_view bytes, const std::string& name);
[[nodiscard]] std::vector<Prompt> prompts_of_jsonl(std::string_view bytes, const std::string& name);

}  // namespace trireme::generate
