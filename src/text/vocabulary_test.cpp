#include "text/vocabulary.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "text/byte_alphabet.h"
#include "text/test_support.h"

namespace trireme::text {
namespace {

/// vocab.json and merges.txt of a sound little vocabulary, to be damaged.
class VocabularyFiles : public FolderTest {
 protected:
  VocabularyFiles() {
    for (const uint8_t byte : bytes_by_letter())
      add(to_letters({reinterpret_cast<const char*>(&byte), 1}));
    add("oa");
    add("oar");
    add("\u0120oar");
    add("<|endoftext|>");
  }

  void add(const std::string& key) {
    entries_.emplace_back(nlohmann::json(key).dump(), entries_.size());
  }

  [[nodiscard]] std::string json() const {
    std::string text = "{";
    for (const auto& [key, id] : entries_)
      text += (text.size() == 1 ? "" : ", ") + key + ": " + std::to_string(id);
    return text + "}";
  }

  [[nodiscard]] std::string message_of_reading() const {
    // Without the sync of write_file: these files need not last.
    if (vocab_json_ != "absent")
      std::ofstream(folder_ / "vocab.json") << (vocab_json_.empty() ? json() : vocab_json_);
    if (merges_txt_ != "absent") std::ofstream(folder_ / "merges.txt") << merges_txt_;
    return message_of(
        [&] { (void)Tokenizer::load(folder_ / "vocab.json", folder_ / "merges.txt"); });
  }

  void expect_refused(const std::vector<std::string>& parts) const {
    const std::string message = message_of_reading();
    for (const std::string& part : parts)
      EXPECT_NE(message.find(part), std::string::npos) << part << "\nis not in: " << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }

  std::vector<std::pair<std::string, size_t>> entries_;
  std::string vocab_json_;  // instead of the entries
  std::string merges_txt_ = "#version: 0.2\no a\noa r\n\u0120 oar\n";
};

TEST_F(VocabularyFiles, SoundOnesAreRead) {
  EXPECT_EQ(message_of_reading(), "no error");
  const Vocabulary vocabulary = read_vocabulary(folder_ / "vocab.json", folder_ / "merges.txt");
  EXPECT_EQ(vocabulary.tokens.size(), 260U);
  EXPECT_EQ(vocabulary.tokens[258], " oar");
  EXPECT_EQ(vocabulary.results, (std::vector<int32_t>{256, 257, 258}));
  EXPECT_EQ(vocabulary.special, (std::vector<int32_t>{259}));
}

TEST_F(VocabularyFiles, TheVersionLineAndTheLastLineFeedMayBeMissing) {
  merges_txt_ = "o a\noa r\n\u0120 oar";
  EXPECT_EQ(message_of_reading(), "no error");
}

TEST_F(VocabularyFiles, AMergeMayBeginWithTheSignOfTheVersionLine) {
  add("##");
  merges_txt_ = "# #\no a\noa r\n\u0120 oar";
  EXPECT_EQ(message_of_reading(), "no error");
}

TEST_F(VocabularyFiles, IdsMayStandInAnyOrder) {
  std::reverse(entries_.begin(), entries_.end());
  EXPECT_EQ(message_of_reading(), "no error");
}

TEST_F(VocabularyFiles, AMissingFileIsNamed) {
  vocab_json_ = "absent";
  expect_refused({"vocab.json", "No such file"});
  vocab_json_ = "";
  merges_txt_ = "absent";
  std::filesystem::remove(folder_ / "merges.txt");
  expect_refused({"merges.txt", "No such file"});
}

TEST_F(VocabularyFiles, JsonThatIsCutShortIsRefusedWithItsPlace) {
  vocab_json_ = json().substr(0, 100);
  expect_refused({"vocab.json", "line 1, column 101"});
  vocab_json_ = " ";
  expect_refused({"vocab.json", "parse error"});
  vocab_json_ = json() + "}";
  expect_refused({"vocab.json", "parse error"});
  vocab_json_ = "{\"\xFF\": 0}";
  expect_refused({"vocab.json", "invalid string"});
}

TEST_F(VocabularyFiles, AnythingButAnObjectOfIdsIsRefused) {
  for (const auto& [text, found] : std::vector<std::pair<std::string, std::string>>{
           {"[1]", "an array"}, {"7", "found 7"}, {"\"x\"", "\"x\""}, {"null", "null"}}) {
    vocab_json_ = text;
    expect_refused({"vocab.json: found", found, "one object"});
  }
  for (const auto& [value, found] : std::vector<std::pair<std::string, std::string>>{
           {"[1]", "an array"},
           {"{}", "an object"},
           {"-1", "-1"},
           {"1.0", "1.0"},
           {"\"1\"", "\"1\""},
           {"true", "truth"},
           {"null", "null"},
           {"4294967296", "4294967296"},
           {"99999999999999999999", "99999999999999999999"}}) {
    vocab_json_ = "{\"oar\": " + value + "}";
    expect_refused({"vocab.json: key \"oar\": found", found, "whole number"});
  }
}

TEST_F(VocabularyFiles, AKeyThatStandsThereTwiceIsRefused) {
  entries_.emplace_back("\"oa\"", entries_.size());
  expect_refused({"vocab.json: key \"oa\"", "twice"});
}

TEST_F(VocabularyFiles, AnIdOfTwoKeysIsRefused) {
  entries_.back().second = 256;
  expect_refused({"vocab.json: key", "\"oa\"", "\"<|endoftext|>\"", "has id 256"});
}

TEST_F(VocabularyFiles, AHoleInTheIdsIsRefused) {
  entries_.back().second = 300;
  expect_refused({"vocab.json: key \"<|endoftext|>\"", "id 300", "no key has id 259"});
}

TEST_F(VocabularyFiles, AVocabularyWithoutAByteIsRefused) {
  entries_[220].first = "\"x x\"";  // the space
  expect_refused({"vocab.json", "\\u0120", "byte 0x20"});
}

TEST_F(VocabularyFiles, AMergeWhoseResultHasNoEntryIsRefused) {
  merges_txt_ += "oar s\n";
  expect_refused({"merges.txt line 5", "\"oars\" has no entry"});
}

TEST_F(VocabularyFiles, AMergeWhosePartHasNoEntryIsRefused) {
  merges_txt_ += "o ar\n";
  expect_refused({"merges.txt line 5", "\"ar\" has no entry"});
  merges_txt_ = "#version: 0.2\r\no a\r\n";
  expect_refused({"merges.txt line 2", R"("a\r" has no entry)"});
}

TEST_F(VocabularyFiles, AMergeThatStandsThereTwiceIsRefused) {
  merges_txt_ += "oa r\n";
  expect_refused({"merges.txt line 5", "same pair as line 3"});
}

TEST_F(VocabularyFiles, ALineThatIsNoMergeIsRefused) {
  const std::string sound = merges_txt_;
  for (const char* line : {"", "oar", "o a r", " oar", "oar ", "o  a", "#version: 0.2 x"}) {
    merges_txt_ = sound + line + "\n" + "\n";
    expect_refused({"merges.txt line 5", "is no merge"});
  }
}

TEST_F(VocabularyFiles, AMergeOfCharactersThatStandForNoByteIsRefused) {
  add("\u4e09");
  add("o\u4e09");
  merges_txt_ += "o \u4e09\n";
  expect_refused({"merges.txt line 5", "stands for no byte"});
}

TEST_F(VocabularyFiles, MergesThatAreCutShortAreNoticed) {
  merges_txt_ = "#version: 0.2\no a\noa r\n";
  expect_refused({"vocab.json: key \"\\u0120oar\"", "no line of", "merges.txt", "cut short"});
}

TEST_F(VocabularyFiles, ASpecialTokenThatMeansOtherTokensBytesIsRefused) {
  add(" oar");
  expect_refused({"vocab.json: key \" oar\"", "same bytes", "\\u0120oar"});
  entries_.pop_back();
  add("");
  expect_refused({"vocab.json: key \"\"", "empty"});
}

TEST_F(VocabularyFiles, GoldenOnesAreWrittenByteForByte) {
  small_tokenizer().save(folder_ / "new" / "folder");
  for (const char* name : {"vocab.json", "merges.txt"})
    EXPECT_EQ(read_file(folder_ / "new" / "folder" / name), read_file(testdata() / "small" / name));
}

TEST_F(VocabularyFiles, OddSpecialTokensComeBack) {
  const std::vector<std::string> special = {"<|a b|>", "<\n\t\"\\>", "<\U0001f6a3>", "<\u4e09>",
                                            "<\x01\x7F>"};
  const std::vector<Merge> merges = {{0, 1}, {256, 2}, {1, 2}, {0, 258}};  // "!\"#" twice
  const Tokenizer tokenizer(make_vocabulary(merges, special));
  EXPECT_EQ(tokenizer.vocab_size(), 256 + 3 + 5);
  tokenizer.save(folder_);
  const Vocabulary again = Tokenizer::load(folder_).vocabulary();
  EXPECT_EQ(again.tokens, tokenizer.vocabulary().tokens);
  EXPECT_EQ(again.merges, merges);
  EXPECT_EQ(again.results, (std::vector<int32_t>{256, 257, 258, 257}));
  EXPECT_EQ(again.special, tokenizer.vocabulary().special);
}

TEST(Vocabulary, SpecialTokensThatCannotBeToldApartAreRefused) {
  const std::vector<Merge> merges = {{0, 1}};
  for (const auto& [token, rule] :
       std::vector<std::pair<std::string, std::string>>{{"", "longer"},
                                                        {"!", "longer"},
                                                        {"<\xFF>", "UTF-8"},
                                                        {"<\u00e9>", "stand for bytes"},
                                                        {"\u0120the", "stand for bytes"},
                                                        {"!\"", "merges make"}}) {
    const std::vector<std::string> special = {token};
    const std::string message = message_of([&] { (void)make_vocabulary(merges, special); });
    EXPECT_NE(message.find(rule), std::string::npos) << token << ": " << message;
  }
  const std::vector<std::string> twice = {"<a>", "<b>", "<a>"};
  EXPECT_NE(message_of([&] { check_special_tokens(twice); }).find("once"), std::string::npos);
}

}  // namespace
}  // namespace trireme::text
