#include "data/json_texts.h"

#include <simdjson.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/format.h"
#include "data/corpus_reader.h"

namespace trireme::data {
namespace {

static_assert(kCorpusPadding >= simdjson::SIMDJSON_PADDING);

constexpr size_t kKeysShown = 8;

const char* type_text(simdjson::dom::element_type type) {
  using Type = simdjson::dom::element_type;
  switch (type) {
    case Type::ARRAY:
      return "an array";
    case Type::OBJECT:
      return "an object";
    case Type::STRING:
      return "a string";
    case Type::BOOL:
      return "true or false";
    case Type::NULL_VALUE:
      return "null";
    case Type::INT64:
    case Type::UINT64:
    case Type::DOUBLE:
      return "a number";
    default:
      return "of another type";
  }
}

std::string keys_text(simdjson::dom::object object) {
  std::string text;
  size_t shown = 0;
  for (const auto field : object) {
    if (shown++ == kKeysShown) return text + ", ...";
    text += format("{}\"{}\"", text.empty() ? "" : ", ", field.key);
  }
  return text.empty() ? "none" : text;
}

}  // namespace

// The whole line is parsed, not only as far as the key: a line that was cut off or damaged behind
// it must not pass. Next to encoding the cost does not show.
struct JsonTexts::State {
  std::vector<std::string> keys;
  simdjson::dom::parser parser;
  Texts texts;
};

JsonTexts::JsonTexts(std::vector<std::string> keys) : state_(std::make_unique<State>()) {
  state_->texts.resize(keys.size());
  state_->keys = std::move(keys);
}
JsonTexts::~JsonTexts() = default;
JsonTexts::JsonTexts(JsonTexts&&) noexcept = default;
JsonTexts& JsonTexts::operator=(JsonTexts&&) noexcept = default;

const JsonTexts::Texts& JsonTexts::parse(std::string_view line, const Path& file, int64_t number) {
  const auto refuse = [&](std::string what, std::string rule) {
    fail({.where = format("{}:{}", file.string(), number),
          .what = std::move(what),
          .rule = std::move(rule),
          .remedy = "correct the line or take it out"});
  };
  constexpr bool kCopyForPadding = false;
  simdjson::dom::element root;
  auto error = state_->parser.parse(line.data(), line.size(), kCopyForPadding).get(root);
  if (error != simdjson::SUCCESS) {
    std::string_view reason = simdjson::error_message(error);
    if (!reason.empty() && reason.back() == '.') reason.remove_suffix(1);
    refuse(format("not valid JSON: {}", reason), "every line of JSONL is one JSON object in UTF-8");
  }
  simdjson::dom::object object;
  if (root.get(object) != simdjson::SUCCESS) {
    refuse(format("the line is {}", type_text(root.type())), "every line of JSONL is an object");
  }
  for (size_t key = 0; key < state_->keys.size(); ++key) {
    const std::string& name = state_->keys[key];
    std::vector<std::string_view>& texts = state_->texts[key];
    texts.clear();
    // Of double keys the last one counts, as in Python.
    bool found = false;
    simdjson::dom::element value;
    for (const auto field : object) {
      if (field.key != name) continue;
      value = field.value;
      found = true;
    }
    if (!found) {
      refuse(format("has no key \"{}\"; its keys: {}", name, keys_text(object)),
             "--json-keys names the keys whose texts are taken from every line");
    }
    const auto add_string = [&](simdjson::dom::element string, const char* of) {
      std::string_view text;
      if (string.get(text) != simdjson::SUCCESS) {
        refuse(format("{}\"{}\" is {}", of, name, type_text(string.type())),
               "a text is a string or an array of strings");
      }
      texts.push_back(text);
    };
    simdjson::dom::array array;
    if (value.get(array) == simdjson::SUCCESS) {
      for (const simdjson::dom::element element : array) add_string(element, "an element of ");
    } else {
      add_string(value, "");
    }
  }
  return state_->texts;
}

}  // namespace trireme::data
