#include "text/json_node.h"

#include <algorithm>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/format.h"

namespace trireme::text {
namespace {

constexpr int kDeepest = 16;

/// Refuses what a parsed document no longer shows.
class Watch {
 public:
  explicit Watch(const std::string& name) : name_(name) {}

  bool operator()(int depth, Json::parse_event_t event, Json& parsed) {
    switch (event) {
      case Json::parse_event_t::object_start:
        seen_.emplace_back();
        [[fallthrough]];
      case Json::parse_event_t::array_start:
        if (depth > kDeepest)
          fail({.where = name_, .what = format("JSON nested deeper than {}", kDeepest)});
        break;
      case Json::parse_event_t::object_end:
        seen_.pop_back();
        break;
      case Json::parse_event_t::key:
        if (!seen_.back().insert(parsed.get<std::string>()).second) {
          fail({.where = format("{}: key {}", name_, shown(parsed.get<std::string>())),
                .what = "stands there twice"});
        }
        break;
      case Json::parse_event_t::array_end:
      case Json::parse_event_t::value:
        break;
    }
    return true;
  }

 private:
  const std::string& name_;
  std::vector<std::unordered_set<std::string>> seen_;  // keys of the open objects
};

}  // namespace

std::string shown(std::string_view text) {
  return Json(text).dump(-1, ' ', true, Json::error_handler_t::replace);
}

Json parse_strict(std::string_view text, const std::string& name) {
  Watch watch(name);
  try {
    return Json::parse(text.begin(), text.end(), std::ref(watch));
  } catch (const Json::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ..."
    const std::string_view words = error.what();
    fail({.where = name,
          .what = std::string(words.substr(std::min(words.find("] ") + 2, words.size()))),
          .remedy = "the file is damaged or cut short: get it again"});
  }
}

void JsonNode::refuse(const std::string& what, const std::string& rule,
                      const std::string& remedy) const {
  fail({.where = where(), .what = what, .rule = rule, .remedy = remedy});
}

JsonNode JsonNode::below(const Json& value, const std::string& step) const {
  JsonNode node(value, name_);
  node.path_ = path_ + (path_.empty() || step.front() == '[' ? "" : ".") + step;
  return node;
}

JsonNode JsonNode::member(const char* key) const {
  static const Json kNull;
  if (!value_->is_object()) refuse(found(), "it must be an object");
  const auto entry = value_->find(key);
  return below(entry == value_->end() ? kNull : *entry, key);
}

JsonNode JsonNode::element(size_t index) const {
  TRIREME_ASSERT(index < elements(), "an element that is there");
  return below((*value_)[index], format("[{}]", index));
}

size_t JsonNode::elements() const {
  if (!value_->is_array()) refuse(found(), "it must be a list");
  return value_->size();
}

void JsonNode::require_known(std::initializer_list<std::string_view> members) const {
  if (!value_->is_object()) refuse(found(), "it must be an object");
  for (const auto& [key, value] : value_->items()) {
    if (std::find(members.begin(), members.end(), key) == members.end())
      below(value, shown(key)).refuse("is not known here, and might change the tokens");
  }
}

std::string JsonNode::text() const {
  if (!value_->is_string()) refuse(found(), "it must be a text");
  return value_->get<std::string>();
}

bool JsonNode::truth() const {
  if (!value_->is_boolean()) refuse(found(), "it must be true or false");
  return value_->get<bool>();
}

int64_t JsonNode::number(int64_t most) const {
  const bool fits =
      value_->is_number_unsigned() && value_->get<uint64_t>() <= static_cast<uint64_t>(most);
  if (!fits) refuse(found(), format("it must be a whole number from 0 to {}", most));
  return value_->get<int64_t>();
}

std::string JsonNode::found() const {
  if (value_->is_object()) return "is an object";
  if (value_->is_array()) return "is a list";
  if (value_->is_null()) return "is null or missing";
  return "is " + value_->dump(-1, ' ', true);
}

}  // namespace trireme::text
