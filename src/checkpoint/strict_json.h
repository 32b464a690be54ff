#pragma once
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/shape.h"

// How this room reads JSON: nothing is guessed, nothing is passed over. For sources only, so that
// the JSON library stays inside the room. `where` names file and place in every message.

namespace trireme::checkpoint {

using Json = nlohmann::json;

/// The file is not what its format says.
[[noreturn]] void fail_damaged(const std::string& where, const std::string& what,
                               const std::string& rule = "");

/// Throws for invalid JSON (with the byte), a member that an object has twice, and nesting deeper
/// than any of our formats.
[[nodiscard]] Json parse_strict(std::string_view text, const std::string& where);

/// Throws unless `value` is an object with exactly these members.
void require_members(const Json& value, std::span<const std::string_view> members,
                     const std::string& where);
inline void require_members(const Json& value, std::initializer_list<std::string_view> members,
                            const std::string& where) {
  require_members(value, std::span(members.begin(), members.size()), where);
}

/// A member as a whole number of at least 0 that fits 63 bits; as a text; as an array. Throw
/// otherwise, naming the member.
[[nodiscard]] int64_t natural(const Json& object, const char* member, const std::string& where);
[[nodiscard]] std::string text_of(const Json& object, const char* member, const std::string& where);
[[nodiscard]] const Json& array_of(const Json& object, const char* member,
                                   const std::string& where);

/// An array of whole numbers of at least 0; as a shape of at most four dimensions.
[[nodiscard]] std::vector<int64_t> naturals(const Json& object, const char* member,
                                            const std::string& where);
[[nodiscard]] Shape shape_of(const Json& object, const char* member, const std::string& where);

/// The extents of a shape as an array.
[[nodiscard]] Json json_of(const Shape& shape);

}  // namespace trireme::checkpoint
