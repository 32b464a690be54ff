#include "evaluate/json.h"

#include "core/format.h"

namespace trireme::evaluate {

nlohmann::json parse_object(std::string_view text, const Line& line) {
  nlohmann::json value;
  try {
    value = nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ..."
    const std::string words = error.what();
    const size_t behind = words.find("] ");
    refuse(line,
           format("not valid JSON: {}",
                  behind == std::string::npos ? words : words.substr(behind + 2)),
           "every line of JSONL is one JSON object in UTF-8");
  }
  if (!value.is_object())
    refuse(line, format("the line is of type {}", value.type_name()),
           "every line of JSONL is an object");
  return value;
}

const std::string& string_of(const nlohmann::json& object, const char* key, const Line& line) {
  const auto found = object.find(key);
  if (found == object.end()) {
    std::string keys;
    for (const auto& item : object.items())
      keys += format("{}\"{}\"", keys.empty() ? "" : ", ", item.key());
    refuse(line, format("has no key \"{}\"; its keys: {}", key, keys.empty() ? "none" : keys),
           "the task needs it");
  }
  if (!found->is_string()) {
    refuse(line, format("\"{}\" is of type {}", key, found->type_name()),
           "the task needs a string there");
  }
  return found->get_ref<const std::string&>();
}

}  // namespace trireme::evaluate
