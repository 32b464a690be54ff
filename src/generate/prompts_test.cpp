#include "generate/prompts.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace trireme::generate {
namespace {

std::vector<std::string> texts(const std::vector<Prompt>& prompts) {
  std::vector<std::string> result;
  for (const Prompt& prompt : prompts) result.push_back(prompt.text);
  return result;
}

using Texts = std::vector<std::string>;

TEST(Prompts, AreTheLinesOfATextWithoutTheirEnds) {
  const auto prompts = prompts_of_text("one\n\n two \r\nthree", "p.txt");
  EXPECT_EQ(texts(prompts), (Texts{"one", " two ", "three"}));
  EXPECT_EQ(prompts[1].where, "p.txt line 3");
  EXPECT_TRUE(prompts_of_text("", "p.txt").empty());
  EXPECT_EQ(texts(prompts_of_text("a\n", "p.txt")), Texts{"a"});
}

TEST(Prompts, AreUnderPromptOrElseTextInJsonl) {
  const auto prompts = prompts_of_jsonl(
      "{\"text\": \"a\\nb\", \"id\": 3}\n\n  \n{\"text\": \"no\", \"prompt\": \"\"}\r\n",
      "p.jsonl");
  EXPECT_EQ(texts(prompts), (Texts{"a\nb", ""}));
  EXPECT_EQ(prompts[1].where, "p.jsonl line 4");
}

TEST(Prompts, TellFileAndLineOfWhatIsNoPrompt) {
  const auto refusal = [](const std::string& bytes) -> std::string {
    try {
      static_cast<void>(prompts_of_jsonl(bytes, "p.jsonl"));
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const std::string good = "{\"prompt\": \"x\"}\n";
  EXPECT_EQ(refusal(good), "");
  EXPECT_EQ(refusal(good + "plain\n").rfind("p.jsonl line 2: not JSON; ", 0), 0U);
  EXPECT_EQ(refusal("[1]").rfind("p.jsonl line 1: a JSON array, no object; ", 0), 0U);
  EXPECT_EQ(refusal("{\"prompt\": 3}").rfind("p.jsonl line 1: \"prompt\" is a JSON number", 0), 0U);
  EXPECT_EQ(refusal("{\"Prompt\": \"x\"}").rfind("p.jsonl line 1: the object has neither", 0), 0U);
  EXPECT_NE(refusal("plain").find("--prompts-format text"), std::string::npos);
}

}  // namespace
}  // namespace trireme::generate
