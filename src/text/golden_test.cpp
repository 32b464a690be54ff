// Encodings made with public libraries by tools/golden_tokenizer.py; provenance in the file.

#include <nlohmann/json.hpp>

#include "core/environment.h"
#include "text/test_support.h"
#include "text/tokenizer_json.h"
#include "text/trainer.h"

namespace trireme::text {
namespace {

using Json = nlohmann::json;

const Json& golden() {
  static const Json value = Json::parse(read_file(testdata() / "golden_tokenizer.json"));
  return value;
}

const Json& golden_llama3() {
  static const Json value = Json::parse(read_file(testdata() / "golden_llama3.json"));
  return value;
}

std::string from_base64(const std::string& text) {
  static const std::string kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  uint32_t bits = 0;
  int held = 0;
  for (const char digit : text) {
    if (digit == '=') break;
    bits = bits << 6 | static_cast<uint32_t>(kDigits.find(digit));
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes.push_back(static_cast<char>(bits >> held));
  }
  return bytes;
}

void expect_golden(const Tokenizer& tokenizer, const Json& from, const std::string& ids) {
  ASSERT_GT(from.at("cases").size(), 200U);
  Encoder encoder(tokenizer);
  for (const Json& entry : from.at("cases")) {
    const std::string text = entry.contains("text")
                                 ? entry.at("text").get<std::string>()
                                 : from_base64(entry.at("base64").get<std::string>());
    std::vector<int32_t> out;
    encoder.encode(text, out);
    EXPECT_EQ(out, entry.at(ids).get<std::vector<int32_t>>()) << entry.at("name");
    EXPECT_EQ(tokenizer.decode(out), text) << entry.at("name");
  }
}

void expect_golden_long(const Tokenizer& tokenizer, const Json& from, const std::string& runs) {
  for (const Json& entry : from.at("long_cases")) {
    std::string text = entry.at("start");
    const std::string unit = entry.at("unit");
    for (size_t times = entry.at("times"); times > 0; --times) text += unit;
    text += entry.at("end").get<std::string>();
    std::vector<int32_t> expected;
    for (const auto& [id, times] : entry.at(runs).get<std::vector<std::pair<int32_t, size_t>>>())
      expected.insert(expected.end(), times, id);
    const std::vector<int32_t> out = tokenizer.encode(text);
    EXPECT_TRUE(out == expected) << entry.at("name") << ": " << out.size() << " tokens, "
                                 << expected.size() << " expected";
    EXPECT_TRUE(tokenizer.decode(out) == text) << entry.at("name");
  }
}

TEST(Golden, SmallVocabularyEncodesHardTextsToTheToken) {
  expect_golden(small_tokenizer(), golden(), "small");
}

TEST(Golden, SmallVocabularyEncodesLinesOfTenMegabytes) {
  expect_golden_long(small_tokenizer(), golden(), "small_runs");
}

TEST(Golden, Llama3sPatternAndMergesEncodeHardTextsToTheToken) {
  expect_golden(Tokenizer::load(testdata() / "llama3"), golden_llama3(), "llama3");
}

TEST(Golden, Llama3sPatternEncodesLinesOfTenMegabytes) {
  expect_golden_long(Tokenizer::load(testdata() / "llama3"), golden_llama3(), "llama3_runs");
}

// The golden ids are those of Hugging Face's tokenizers reading these very files.
TEST(Golden, TokenizerJsonIsWrittenAsTheFilesThatThePublicLibraryRead) {
  for (const char* name : {"small", "llama3"}) {
    const std::string text = read_file(testdata() / name / "tokenizer.json");
    EXPECT_EQ(to_tokenizer_json(parse_tokenizer_json(text, name)), text);
  }
  EXPECT_EQ(Tokenizer::load(testdata() / "small").vocabulary(), small_tokenizer().vocabulary());
}

TEST(Golden, TrainingGivesTheVocabularyOfThePublicTrainer) {
  ThreadPool pool(1);
  bool given = false;
  const Tokenizer tokenizer = train(
      {.vocab_size = golden().at("small_vocab_size")},
      [&](std::string& text) {
        text = golden().at("training_text").get<std::string>();
        return !std::exchange(given, true);
      },
      pool);
  EXPECT_EQ(tokenizer.vocabulary().tokens, small_tokenizer().vocabulary().tokens);
  EXPECT_EQ(tokenizer.vocabulary().merges, small_tokenizer().vocabulary().merges);
  EXPECT_EQ(tokenizer.vocabulary().special, small_tokenizer().vocabulary().special);
}

/// GPT-2's own vocabulary is not part of the repository.
class GoldenGpt2 : public FolderTest {
 protected:
  void SetUp() override {
    const auto value = environment_value("TRIREME_GPT2_VOCAB");
    if (!value) {
      GTEST_SKIP() << "TRIREME_GPT2_VOCAB does not name a folder with GPT-2's vocab.json and "
                      "merges.txt";
    }
    gpt2_ = *value;
  }
  Path gpt2_;
};

TEST_F(GoldenGpt2, EncodesHardTextsToTheToken) {
  const Tokenizer tokenizer = Tokenizer::load(gpt2_);
  EXPECT_EQ(tokenizer.vocab_size(), 50257);
  EXPECT_EQ(tokenizer.end_of_text(), 50256);
  expect_golden(tokenizer, golden(), "gpt2");
}

TEST_F(GoldenGpt2, EncodesLinesOfTenMegabytes) {
  expect_golden_long(Tokenizer::load(gpt2_), golden(), "gpt2_runs");
}

TEST_F(GoldenGpt2, LoadedAndSavedComesOutByteForByte) {
  Tokenizer::load(gpt2_).save(folder_);
  for (const char* name : {"vocab.json", "merges.txt"})
    EXPECT_TRUE(read_file(folder_ / name) == read_file(gpt2_ / name)) << name;
}

}  // namespace
}  // namespace trireme::text
