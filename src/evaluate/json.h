#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "evaluate/lines.h"

namespace trireme::evaluate {

/// An object out of a line. Throws for anything else, and for what is not JSON in UTF-8.
[[nodiscard]] nlohmann::json parse_object(std::string_view text, const Line& line);

/// The string under a key. Throws where it is missing or has another type.
[[nodiscard]] const std::string& string_of(const nlohmann::json& object, const char* key,
                                           const Line& line);

}  // namespace trireme::evaluate
