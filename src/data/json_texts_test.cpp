#include "data/json_texts.h"

#include "data/corpus_reader.h"
#include "data/test_dataset.h"

namespace trireme::data {
namespace {

/// The texts of one line, copied.
std::vector<std::vector<std::string>> parse(std::string line,
                                            std::vector<std::string> keys = {"text"}) {
  JsonTexts json(std::move(keys));
  const size_t size = line.size();
  line.append(kCorpusPadding, '"');  // what lies behind the line must not matter
  std::vector<std::vector<std::string>> found;
  for (const auto& of_key : json.parse(std::string_view(line).substr(0, size), "c.jsonl", 12))
    found.emplace_back(of_key.begin(), of_key.end());
  return found;
}

std::string refusal(const std::string& line, std::vector<std::string> keys = {"text"}) {
  return error_of([&] { parse(line, std::move(keys)); });
}

using Texts = std::vector<std::vector<std::string>>;

TEST(JsonTexts, TakesTheStringsUnderItsKeys) {
  EXPECT_EQ(parse(R"({"id": 1, "text": "a\n\u00e9\"\ud83d\ude00"})"), (Texts{{"a\né\"😀"}}));
  EXPECT_EQ(parse("{\"b\": \"2\", \"a\": \"1\"}\r", {"a", "b"}), (Texts{{"1"}, {"2"}}));
  EXPECT_EQ(parse(R"({"text": ""})"), (Texts{{""}}));
}

TEST(JsonTexts, ArrayOfStringsIsADocumentOfSeveralSequences) {
  EXPECT_EQ(parse(R"({"text": ["one", "", "two"]})"), (Texts{{"one", "", "two"}}));
  EXPECT_EQ(parse(R"({"text": []})"), (Texts{{}}));
}

TEST(JsonTexts, LastOfDoubleKeysCounts) {
  EXPECT_EQ(parse(R"({"text": "one", "text": "two"})"), (Texts{{"two"}}));
}

TEST(JsonTexts, MalformedLinesNameFileAndLine) {
  for (const char* line :
       {"{\"text\": \"abc", "{\"text\": \"abc\"", "{\"text\": \"abc\"} x", "{\"text\": \"abc\",}",
        "{\"text\": \"abc\", \"x\": }", "{\"text\": \"abc\", \"x\": tru}", "{\"text\": \"\\q\"}",
        "{\"text\": \"\xff\"}", "{'text': 'abc'}", "{\"text\": \"a\tb\"}", "{\"text\" \"abc\"}",
        "{\"text\": \"abc\"}{\"text\": \"abc\"}", "", "x"}) {
    const std::string error = refusal(line);
    EXPECT_TRUE(contains(error, "c.jsonl:12: not valid JSON")) << line << ": " << error;
  }
}

TEST(JsonTexts, LinesThatAreNoObjectsAreRefused) {
  EXPECT_TRUE(contains(refusal("[\"text\"]"), "c.jsonl:12: the line is an array"));
  EXPECT_TRUE(contains(refusal("\"text\""), "the line is a string"));
  EXPECT_TRUE(contains(refusal("7"), "the line is a number"));
}

TEST(JsonTexts, MissingKeyIsToldWithTheKeysThatAreThere) {
  const std::string error = refusal(R"({"url": "u", "body": "b"})");
  EXPECT_TRUE(contains(error, R"(c.jsonl:12: has no key "text"; its keys: "url", "body")"))
      << error;
  EXPECT_TRUE(contains(refusal("{}"), "its keys: none"));
}

TEST(JsonTexts, ValuesOfAnotherTypeAreRefused) {
  EXPECT_TRUE(contains(refusal(R"({"text": null})"), R"("text" is null)"));
  EXPECT_TRUE(contains(refusal(R"({"text": 1.5})"), R"("text" is a number)"));
  EXPECT_TRUE(contains(refusal(R"({"text": {"a": "b"}})"), R"("text" is an object)"));
  EXPECT_TRUE(
      contains(refusal(R"({"text": ["a", true]})"), R"(an element of "text" is true or false)"));
}

TEST(JsonTexts, ObjectServesManyLines) {
  JsonTexts json({"text"});
  for (int line = 0; line < 100; ++line) {
    const std::string text(static_cast<size_t>(line) * 100, 'x');
    std::string document = "{\"text\": \"" + text + "\"}";
    const size_t size = document.size();
    document.append(kCorpusPadding, '\0');
    const auto& texts = json.parse(std::string_view(document).substr(0, size), "c", line);
    EXPECT_EQ(texts[0][0], text);
  }
}

}  // namespace
}  // namespace trireme::data
