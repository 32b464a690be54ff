#include "core/fuzz.h"
#include "evaluate/hellaswag.h"
#include "evaluate/lambada.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace trireme;
  using namespace trireme::evaluate;
  const std::string_view text = fuzz::text_of(data, size);
  const Line line = {.file = "fuzz.jsonl", .number = 1};

  LambadaExample lambada;
  if (fuzz::accepted([&] { lambada = parse_lambada(text, line); })) {
    fuzz::require(!lambada.context.empty(), "a context is not empty");
    fuzz::require(lambada.word.size() > 1 && lambada.word.rfind(' ') == 0,
                  "a word is a space and what is behind it");
  }
  for (const auto style : {config::HellaSwagText::harness, config::HellaSwagText::plain}) {
    HellaSwagExample example;
    if (!fuzz::accepted([&] { example = parse_hellaswag(text, style, line); })) continue;
    fuzz::require(
        example.endings.size() >= 2 && example.endings.size() == example.characters.size(),
        "there are endings to choose from");
    fuzz::require(
        example.label >= 0 && example.label < static_cast<int64_t>(example.endings.size()),
        "a label is one of the endings");
    for (size_t i = 0; i < example.endings.size(); ++i) {
      fuzz::require(example.endings[i][0] == ' ' || style == config::HellaSwagText::harness,
                    "a space stands in front of an ending");
      fuzz::require(example.characters[i] > 0, "an ending has a character");
    }
  }
  return 0;
}
