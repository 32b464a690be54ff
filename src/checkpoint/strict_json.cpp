#include "checkpoint/strict_json.h"

#include <algorithm>
#include <limits>
#include <unordered_set>

#include "core/format.h"

namespace trireme::checkpoint {
namespace {

constexpr int kDeepest = 16;

const Json& member_of(const Json& object, const char* member, const std::string& where) {
  const auto found = object.find(member);
  if (found == object.end()) fail_damaged(where, format("no member \"{}\"", member));
  return *found;
}

int64_t natural_value(const Json& value, const char* member, const std::string& where) {
  const bool fits =
      value.is_number_unsigned() &&
      value.get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (!fits) {
    fail_damaged(where,
                 format("\"{}\" is {}", member, value.is_structured() ? "no number" : value.dump()),
                 "it is a whole number from 0 to 2^63 - 1");
  }
  return static_cast<int64_t>(value.get<uint64_t>());
}

}  // namespace

void fail_damaged(const std::string& where, const std::string& what, const std::string& rule) {
  fail({.where = where, .what = what, .rule = rule});
}

Json parse_strict(std::string_view text, const std::string& where) {
  std::vector<std::unordered_set<std::string>> seen;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
    switch (event) {
      case Json::parse_event_t::object_start:
        seen.emplace_back();
        [[fallthrough]];
      case Json::parse_event_t::array_start:
        if (depth > kDeepest) fail_damaged(where, format("JSON nested deeper than {}", kDeepest));
        break;
      case Json::parse_event_t::object_end:
        seen.pop_back();
        break;
      case Json::parse_event_t::key:
        if (!seen.back().insert(parsed.get<std::string>()).second)
          fail_damaged(where, format("{} stands twice", parsed.dump()), "names are unique");
        break;
      case Json::parse_event_t::array_end:
      case Json::parse_event_t::value:
        break;
    }
    return true;
  };
  try {
    return Json::parse(text.begin(), text.end(), watch);
  } catch (const Json::parse_error& error) {
    fail_damaged(where, format("not valid JSON at byte {}", error.byte));
  } catch (const Json::exception& error) {
    fail_damaged(where, format("not valid JSON ({})", error.what()));
  }
}

void require_members(const Json& value, std::span<const std::string_view> members,
                     const std::string& where) {
  if (!value.is_object()) fail_damaged(where, "not a JSON object");
  for (const std::string_view member : members) {
    if (!value.contains(std::string(member)))
      fail_damaged(where, format("no member \"{}\"", member));
  }
  for (const auto& item : value.items()) {
    if (std::find(members.begin(), members.end(), item.key()) == members.end())
      fail_damaged(where, format("unknown member {}", Json(item.key()).dump()));
  }
}

int64_t natural(const Json& object, const char* member, const std::string& where) {
  return natural_value(member_of(object, member, where), member, where);
}

std::string text_of(const Json& object, const char* member, const std::string& where) {
  const Json& value = member_of(object, member, where);
  if (!value.is_string()) fail_damaged(where, format("\"{}\" is not a text", member));
  return value.get<std::string>();
}

const Json& array_of(const Json& object, const char* member, const std::string& where) {
  const Json& value = member_of(object, member, where);
  if (!value.is_array()) fail_damaged(where, format("\"{}\" is not a list", member));
  return value;
}

std::vector<int64_t> naturals(const Json& object, const char* member, const std::string& where) {
  std::vector<int64_t> numbers;
  for (const Json& value : array_of(object, member, where))
    numbers.push_back(natural_value(value, member, where));
  return numbers;
}

Shape shape_of(const Json& object, const char* member, const std::string& where) {
  const std::vector<int64_t> extents = naturals(object, member, where);
  if (extents.size() > static_cast<size_t>(Shape::kMaxRank)) {
    fail_damaged(where, format("\"{}\" has {} dimensions", member, extents.size()),
                 format("tensors here have at most {}", Shape::kMaxRank));
  }
  return Shape(extents);
}

Json json_of(const Shape& shape) {
  Json extents = Json::array();
  for (int i = 0; i < shape.rank(); ++i) extents.push_back(shape[i]);
  return extents;
}

}  // namespace trireme::checkpoint
