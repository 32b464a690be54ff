#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "evaluate/hellaswag.h"
#include "evaluate/lambada.h"
#include "evaluate/language.h"

// What `trireme evaluate` prints: the measures of docs/evaluation.md, as JSON and as a table.

namespace trireme::app {

using Json = nlohmann::ordered_json;

/// The measures of one thing that was evaluated.
[[nodiscard]] Json language_json(const evaluate::LanguageResult& result);
[[nodiscard]] Json lambada_json(const evaluate::LambadaResult& result);
[[nodiscard]] Json hellaswag_json(const evaluate::HellaSwagResult& result);

/// The same with its task and name in front.
[[nodiscard]] Json result_json(const char* task, const std::string& name, const Json& measures);

/// All measures of several results, one a row.
[[nodiscard]] std::string table_of(const std::vector<Json>& results);

}  // namespace trireme::app
