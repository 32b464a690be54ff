#include "generate/prompts.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/format.h"

namespace trireme::generate {
namespace {

// Calls use(line, "NAME line N") for each line without its end.
template <class Use>
void for_each_line(std::string_view bytes, const std::string& name, Use use) {
  for (int64_t number = 1; !bytes.empty(); ++number) {
    const size_t end = std::min(bytes.find('\n'), bytes.size());
    std::string_view line = bytes.substr(0, end);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    use(line, format("{} line {}", name, number));
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
  }
}

[[noreturn]] void refuse(const std::string& where, const std::string& what) {
  fail({.where = where,
        .what = what,
        .rule = "a line is a JSON object whose \"prompt\" or \"text\" is the text to continue",
        .remedy = "correct the line; if these are plain prompts, use --prompts-format text"});
}

// The text under "prompt", or else under "text".
std::string text_of(std::string_view line, const std::string& where) {
  nlohmann::json object;
  try {
    object = nlohmann::json::parse(line);
  } catch (const nlohmann::json::exception&) {
    refuse(where, "not JSON");
  }
  if (!object.is_object()) refuse(where, format("a JSON {}, no object", object.type_name()));
  for (const char* const key : {"prompt", "text"}) {
    const auto found = object.find(key);
    if (found == object.end()) continue;
    if (!found->is_string()) {
      refuse(where, format("\"{}\" is a JSON {}, no string", key, found->type_name()));
    }
    return found->get<std::string>();
  }
  refuse(where, "the object has neither a \"prompt\" nor a \"text\"");
}

}  // namespace

std::vector<Prompt> prompts_of_text(std::string_view bytes, const std::string& name) {
  std::vector<Prompt> prompts;
  for_each_line(bytes, name, [&](std::string_view line, const std::string& where) {
    if (!line.empty()) prompts.push_back({std::string(line), where});
  });
  return prompts;
}

std::vector<Prompt> prompts_of_jsonl(std::string_view bytes, const std::string& name) {
  std::vector<Prompt> prompts;
  for_each_line(bytes, name, [&](std::string_view line, const std::string& where) {
    if (line.find_first_not_of(" \t") != std::string_view::npos)
      prompts.push_back({text_of(line, where), where});
  });
  return prompts;
}

}  // namespace trireme::generate
