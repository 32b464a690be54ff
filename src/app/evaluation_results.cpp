#include "app/evaluation_results.h"

#include <algorithm>

#include "core/format.h"
#include "core/table.h"

namespace trireme::app {

Json language_json(const evaluate::LanguageResult& result) {
  Json json = {{"tokens", result.score.tokens}};
  if (result.bytes > 0) json["bytes"] = result.bytes;
  json["loss"] = result.loss();
  json["perplexity"] = result.perplexity();
  if (result.bytes > 0) json["bits_per_byte"] = result.bits_per_byte();
  json["accuracy"] =
      static_cast<double>(result.score.hits) / static_cast<double>(result.score.tokens);
  return json;
}

Json lambada_json(const evaluate::LambadaResult& result) {
  return {{"examples", result.examples},
          {"truncated", result.truncated},
          {"accuracy", result.accuracy()},
          {"perplexity", result.perplexity()}};
}

Json hellaswag_json(const evaluate::HellaSwagResult& result) {
  return {{"examples", result.examples},
          {"truncated", result.truncated},
          {"accuracy", result.share(result.by_sum)},
          {"accuracy_per_character", result.share(result.by_character)},
          {"accuracy_per_token", result.share(result.by_token)}};
}

Json result_json(const char* task, const std::string& name, const Json& measures) {
  Json json = {{"task", task}, {"name", name}};
  json.update(measures);
  return json;
}

std::string table_of(const std::vector<Json>& results) {
  using Align = TextTable::Align;
  TextTable table(
      {{"evaluated on", Align::left}, {"measure", Align::left}, {"value", Align::right}});
  for (const Json& result : results) {
    std::string title =
        format("{} {}", result["task"].get<std::string>(), result["name"].get<std::string>());
    for (const auto& [key, value] : result.items()) {
      if (value.is_string()) continue;
      std::string measure = key;
      std::replace(measure.begin(), measure.end(), '_', ' ');
      table.row({title, measure,
                 value.is_number_float() ? format("{:.4f}", value.get<double>()) : value.dump()});
      title.clear();
    }
  }
  return table.text();
}

}  // namespace trireme::app
