// Prompts of any bytes: lines of a text are found again, those of JSONL when they are written anew.

#include <nlohmann/json.hpp>

#include "core/fuzz.h"
#include "generate/prompts.h"

using namespace trireme;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes = fuzz::text_of(data, size);
  std::string lines;
  const auto prompts = generate::prompts_of_text(bytes, "text");
  for (const generate::Prompt& prompt : prompts) {
    fuzz::require(!prompt.text.empty() && prompt.text.find('\n') == std::string::npos,
                  "a prompt is a line that is not empty");
    lines += prompt.text + "\r\n";
  }
  const auto again = generate::prompts_of_text(lines, "again");
  fuzz::require(again.size() == prompts.size(), "as many lines are found again");
  for (size_t i = 0; i < again.size(); ++i)
    fuzz::require(again[i].text == prompts[i].text, "a line is found again");

  std::vector<generate::Prompt> objects;
  if (!fuzz::accepted([&] { objects = generate::prompts_of_jsonl(bytes, "jsonl"); })) return 0;
  std::string rewritten;
  for (const generate::Prompt& prompt : objects)
    rewritten += nlohmann::json{{"prompt", prompt.text}}.dump() + "\n";
  const auto read = generate::prompts_of_jsonl(rewritten, "rewritten");
  fuzz::require(read.size() == objects.size(), "as many objects are found again");
  for (size_t i = 0; i < read.size(); ++i)
    fuzz::require(read[i].text == objects[i].text, "a text is found again");
  return 0;
}
