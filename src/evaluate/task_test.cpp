#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>

#include "core/error.h"
#include "core/format.h"
#include "evaluate/hellaswag.h"
#include "evaluate/lambada.h"
#include "evaluate/test_model.h"

namespace trireme::evaluate {
namespace {

using config::HellaSwagText;

constexpr int64_t kAll = std::numeric_limits<int64_t>::max();
const Line kLine = {.file = "some.jsonl", .number = 7};

std::string failure_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// A file of this test.
Path written(const std::string& name, const std::string& content) {
  const Path path = Path(testing::TempDir()) / format("trireme-evaluate-{}-{}", ::getpid(), name);
  write_file(path, content);
  return path;
}

TEST(Lambada, IsCutAtTheLastSpace) {
  const auto parsed = [](const char* text) {
    const LambadaExample example = parse_lambada(text, kLine);
    return example.context + "|" + example.word;
  };
  EXPECT_EQ(parsed(R"({"text": "they row home", "id": 3})"), "they row| home");
  EXPECT_EQ(parsed(R"({"text": "they row \"home\" .\n"})"), "they row \"home\"| .");
  EXPECT_EQ(parsed("{\"text\": \"two  spaces\"}"), "two | spaces");
  EXPECT_EQ(parsed("{\"text\": \"a line\\nand one\"}"), "a line\nand| one");
}

TEST(Lambada, RefusesALineThatIsNoneWithFileAndLine) {
  for (const auto& [text, words] : std::vector<std::pair<const char*, const char*>>{
           {"{\"text\": \"cut", "not valid JSON"},
           {"{\"text\": \"bad \xff utf-8\"}", "not valid JSON"},
           {"[\"text\"]", "of type array"},
           {"{\"txt\": \"a b\"}", "has no key \"text\"; its keys: \"txt\""},
           {"{\"text\": 3}", "\"text\" is of type number"},
           {"{\"text\": \"word\"}", "no space"},
           {"{\"text\": \" word\"}", "no space"},
           {"{\"text\": \"word  \"}", "no space"},
           {"{\"text\": \"\"}", "no space"}}) {
    const std::string message =
        failure_of([&, t = text] { static_cast<void>(parse_lambada(t, kLine)); });
    EXPECT_TRUE(says(message, "some.jsonl:7")) << message;
    EXPECT_TRUE(says(message, words)) << message;
  }
}

TEST(Lambada, CountsWordsThatGreedyDecodingFindsAsABruteForceDoes) {
  const int32_t water = tokenizer().id_of(" water").value();
  TestModel model(water);
  const std::vector<std::string> contexts = {"The ship is on the",
                                             "One oar, two oars and all the",
                                             "They row",
                                             "Who has seen, in the banks of it, the",
                                             "All that they had was",
                                             "To be in the"};
  const std::vector<std::string> words = {" water", " water",     " water",
                                          " ship",  " wateroars", " water"};
  std::string file;
  for (size_t i = 0; i < words.size(); ++i)
    file += format("{{\"text\": \"{}{}\"}}\n{}", contexts[i], words[i], i == 2 ? "\n" : "");
  const Path path = written("lambada.jsonl", file);

  LambadaResult expected = {.examples = 6};
  for (size_t i = 0; i < words.size(); ++i) {
    std::vector<int32_t> tokens = tokenizer().encode(contexts[i]);
    const size_t first = tokens.size();
    tokenizer().encode(words[i], tokens);
    const TestModel::Direct direct = model.direct(tokens);
    bool correct = true;
    for (size_t at = first; at < tokens.size(); ++at) {
      expected.words.nats += double{direct.losses[at - 1]};
      correct = correct && direct.greedy[at - 1];
    }
    expected.correct += correct ? 1 : 0;
  }
  EXPECT_GT(expected.correct, 0);
  EXPECT_LT(expected.correct, 6);

  for (const int64_t b : {1, 4}) {
    const LambadaResult result = evaluate_lambada(path, kAll, tokenizer(), model.open(),
                                                  {.longest = kPositions, .sequences = b});
    EXPECT_EQ(result.examples, 6);
    EXPECT_EQ(result.correct, expected.correct);
    EXPECT_EQ(result.truncated, 0);
    EXPECT_NEAR(result.words.nats, expected.words.nats, 1e-12 * expected.words.nats);
    EXPECT_DOUBLE_EQ(result.perplexity(), std::exp(result.words.nats / 6));
  }
  EXPECT_EQ(
      evaluate_lambada(path, 2, tokenizer(), model.open(), {.longest = kPositions, .sequences = 4})
          .examples,
      2);
}

TEST(EncodedPair, LosesTheFrontOfAContextThatIsTooLong) {
  const std::string context = "One bank rows and three banks row the ship on the water";
  const EncodedPair whole(context, " to it", tokenizer(), 100, kLine);
  const EncodedPair cut(context, " to it", tokenizer(), 8, kLine);
  EXPECT_FALSE(whole.truncated());
  EXPECT_TRUE(cut.truncated());
  EXPECT_EQ(cut.passage().length(), 8);
  EXPECT_EQ(cut.passage().counted(), whole.passage().counted());
  const auto end = whole.passage().tokens.last(9);
  EXPECT_TRUE(std::equal(end.begin(), end.end(), cut.passage().tokens.begin()));
  EXPECT_FALSE(
      EncodedPair(context, " to it", tokenizer(), whole.passage().length(), kLine).truncated());
  // One token of the context has to stay.
  const int64_t target = whole.passage().counted();
  EXPECT_EQ(EncodedPair(context, " to it", tokenizer(), target, kLine).passage().first_counted, 1);
  for (const std::string& message :
       {failure_of([&] { EncodedPair(context, " to it", tokenizer(), target - 1, kLine); }),
        failure_of([&] { EncodedPair("", " to it", tokenizer(), 9, kLine); }),
        failure_of([&] { EncodedPair(context, "", tokenizer(), 9, kLine); })}) {
    EXPECT_TRUE(says(message, "some.jsonl:7")) << message;
  }
}

TEST(HellaSwag, MakesTextAsTheHarnessDoesOrAsItIs) {
  const char* text =
      R"({"ind": 4, "activity_label": "Rowing", "ctx_a": "[header] How to row [title] Sit  down. )"
      R"([step] Take an oar.", "ctx_b": "the Oar", "ctx": "Sit down. the Oar", "label": "1", )"
      R"("endings": [" is made [substeps] of wood .", "sinks."]})";
  const HellaSwagExample harness = parse_hellaswag(text, HellaSwagText::harness, kLine);
  EXPECT_EQ(harness.context, "Rowing: How to row. Sit down. Take an oar. The oar");
  EXPECT_EQ(harness.endings, (std::vector<std::string>{" is made of wood .", " sinks."}));
  EXPECT_EQ(harness.characters, (std::vector<int64_t>{17, 6}));
  EXPECT_EQ(harness.label, 1);
  const HellaSwagExample plain = parse_hellaswag(text, HellaSwagText::plain, kLine);
  EXPECT_EQ(plain.context, "Sit down. the Oar");
  EXPECT_EQ(plain.endings[0], "  is made [substeps] of wood .");

  // Without parts and label, and with characters of several bytes.
  const HellaSwagExample small = parse_hellaswag(
      "{\"ctx\": \"Er holt aus [step]\", \"label\": 0, \"endings\": [\"\xc3\xbc"
      "ber\", \"b\"]}",
      HellaSwagText::harness, kLine);
  EXPECT_EQ(small.context, "Er holt aus");
  EXPECT_EQ(small.endings[0],
            "  \xc3\xbc"
            "ber");  // the space at the context's end goes along
  EXPECT_EQ(small.characters[0], 4);
  EXPECT_EQ(
      parse_hellaswag(R"({"ctx_a": "They sit.", "ctx_b": "", "label": 0, "endings": ["a", "b"]})",
                      HellaSwagText::plain, kLine)
          .context,
      "They sit.");
}

TEST(HellaSwag, RefusesALineThatIsNoneWithFileAndLine) {
  const auto line = [](const char* rest) { return format("{{\"ctx\": \"a b\", {}}}", rest); };
  for (const auto& [text, words] : std::vector<std::pair<std::string, const char*>>{
           {line(R"("endings": ["a", "b"])"), "has no label"},
           {line(R"("endings": ["a", "b"], "label": "")"), "has no label"},
           {line(R"("endings": ["a", "b"], "label": 2)"), "the label is 2"},
           {line(R"("endings": ["a", "b"], "label": -1)"), "the label is -1"},
           {line(R"("endings": ["a", "b"], "label": 0.5)"), "the label is 0.5"},
           {line(R"("endings": ["a", "b"], "label": null)"), "the label is null"},
           {line(R"("endings": ["a"], "label": 0)"), "\"endings\" is no list"},
           {line(R"("endings": "a", "label": 0)"), "\"endings\" is no list"},
           {line(R"("label": 0)"), "\"endings\" is no list"},
           {line(R"("endings": ["a", 3], "label": 0)"), "an ending is of type number"},
           {line(R"("endings": ["a", "[b]"], "label": 0)"), "ending 1 is empty"},
           {R"({"endings": ["a", "b"], "label": 0})", "has no key \"ctx\""},
           {"3", "of type number"}}) {
    const std::string message = failure_of(
        [&, t = text] { static_cast<void>(parse_hellaswag(t, HellaSwagText::harness, kLine)); });
    EXPECT_TRUE(says(message, "some.jsonl:7")) << message;
    EXPECT_TRUE(says(message, words)) << message;
  }
}

TEST(HellaSwag, ChoosesAsABruteForceDoes) {
  TestModel model;
  const std::vector<std::string> contexts = {"The ship is on", "They row in the",
                                             "One oar",        "Who is that with the banks of",
                                             "It is",          "All",
                                             "To be in the",   "The oars"};
  const std::vector<std::string> endings = {"the water.", "banks and ships",
                                            "a bank, and all of the oars", "it"};
  std::string file;
  std::array<int64_t, 3> expected = {};
  for (size_t i = 0; i < contexts.size(); ++i) {
    std::string list;
    std::array<double, 3> least = {};
    std::array<int64_t, 3> chosen = {};
    for (int64_t j = 0; j < 4; ++j) {
      // Another order for each context.
      const std::string& ending = endings[(static_cast<size_t>(j) * 3 + i) % 4];
      list += format("{}\"{}\"", j == 0 ? "" : ", ", ending);
      std::vector<int32_t> tokens = tokenizer().encode(contexts[i]);
      const size_t first = tokens.size();
      tokenizer().encode(" " + ending, tokens);
      const TestModel::Direct direct = model.direct(tokens);
      double nats = 0;
      for (size_t at = first; at < tokens.size(); ++at) nats += double{direct.losses[at - 1]};
      const std::array<double, 3> values = {nats, nats / static_cast<double>(ending.size()),
                                            nats / static_cast<double>(tokens.size() - first)};
      for (size_t k = 0; k < 3; ++k) {
        if (j > 0 && values[k] >= least[k]) continue;
        least[k] = values[k];
        chosen[k] = j;
      }
    }
    // One way of choosing is right, not always the same one.
    const int64_t label = chosen[std::array{2, 2, 1, 2, 1, 0, 2, 1}[i]];
    for (size_t k = 0; k < 3; ++k) expected[k] += chosen[k] == label ? 1 : 0;
    file +=
        format("{{\"ctx\": \"{}\", \"endings\": [{}], \"label\": {}}}\n", contexts[i], list, label);
  }
  // The ways of choosing differ.
  EXPECT_NE(expected[0], expected[1]);
  EXPECT_NE(expected[1], expected[2]);
  EXPECT_NE(expected[0], expected[2]);

  const Path path = written("hellaswag.jsonl", file);
  for (const int64_t b : {1, 6}) {
    const HellaSwagResult result =
        evaluate_hellaswag(path, kAll, HellaSwagText::harness, tokenizer(), model.open(),
                           {.longest = kPositions, .sequences = b});
    EXPECT_EQ(result.examples, 8);
    EXPECT_EQ(result.by_sum, expected[0]);
    EXPECT_EQ(result.by_character, expected[1]);
    EXPECT_EQ(result.by_token, expected[2]);
  }
}

TEST(Tasks, NameTheLineOfAFileAndRefuseAnEmptyOne) {
  TestModel model;
  const ScorerOptions options = {.longest = kPositions, .sequences = 2};
  const auto lambada = [&](const Path& path) {
    return failure_of([&] {
      static_cast<void>(evaluate_lambada(path, kAll, tokenizer(), model.open(), options));
    });
  };
  const Path bad = written("bad.jsonl", "{\"text\": \"a b\"}\n\n{\"text\": 1}\n");
  EXPECT_TRUE(says(lambada(bad), bad.string() + ":3")) << lambada(bad);
  for (const char* none : {"", "\n\n"}) {
    const Path path = written("none.jsonl", none);
    EXPECT_TRUE(says(lambada(path), "has no line")) << lambada(path);
  }
  EXPECT_TRUE(says(lambada("/nowhere/x.jsonl"), "/nowhere/x.jsonl"));
}

}  // namespace
}  // namespace trireme::evaluate
