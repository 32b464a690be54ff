// trireme tokenizer from the command line to its output.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <sstream>

#include "app/commands.h"
#include "app/program.h"
#include "core/file.h"
#include "text/pattern.h"
#include "text/tokenizer.h"

namespace trireme::app {
namespace {

class TokenizerCommands : public testing::Test {
 protected:
  TokenizerCommands() {
    std::string pattern = testing::TempDir() + "trireme-app-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
    make_folder(folder_ / "corpus");
    std::string text;
    for (int line = 0; line < 200; ++line) text += "The oars of the upper bank are long.\n";
    write_file(folder_ / "corpus" / "a.txt", text);
    write_file(folder_ / "corpus" / "b.jsonl",
               "{\"text\": \"The oars\"}\n{\"text\": \"of the bank\", \"title\": \"oars\"}\n");
  }
  ~TokenizerCommands() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string at(const std::string& name) const { return (folder_ / name).string(); }

  int run(const std::vector<std::string>& arguments) {
    const std::vector<Command> commands = {tokenizer_train_command(), tokenizer_encode_command(),
                                           tokenizer_decode_command()};
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int status = guarded_program(commands, arguments);
    output_ = testing::internal::GetCapturedStdout();
    errors_ = testing::internal::GetCapturedStderr();
    return status;
  }

  int train() {
    return run({"tokenizer", "train", "--input", at("corpus"), "--vocab-size", "300", "--output",
                at("new/tokenizer")});
  }

  /// encode or decode with the trained tokenizer.
  int code(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "tokenizer");
    for (const char* word :
         {"--vocab-file", "new/tokenizer/vocab.json", "--merge-file", "new/tokenizer/merges.txt"}) {
      arguments.push_back(word[0] == '-' ? word : at(word));
    }
    return run(arguments);
  }

  Path folder_;
  std::string output_;
  std::string errors_;
};

TEST_F(TokenizerCommands, TrainWritesAVocabularyAndSaysSo) {
  ASSERT_EQ(train(), 0) << errors_;
  const auto tokenizer = text::Tokenizer::load(folder_ / "new" / "tokenizer");
  EXPECT_TRUE(tokenizer.id_of(" oars").has_value());
  EXPECT_NE(output_.find("tokens = 256 bytes + "), std::string::npos) << output_;
  EXPECT_NE(errors_.find("300 tokens were asked for"), std::string::npos) << errors_;
}

TEST_F(TokenizerCommands, AFolderAFileOrTwoFilesAreTheSameTokenizer) {
  ASSERT_EQ(train(), 0) << errors_;
  ASSERT_EQ(code({"encode", at("corpus/a.txt")}), 0) << errors_;
  const std::string expected = output_;
  for (const char* model : {"new/tokenizer", "new/tokenizer/tokenizer.json"}) {
    ASSERT_EQ(run({"tokenizer", "encode", at("corpus/a.txt"), "--tokenizer-model", at(model)}), 0)
        << errors_;
    EXPECT_EQ(output_, expected);
  }
}

TEST_F(TokenizerCommands, EachNeedsOneTokenizer) {
  ASSERT_EQ(train(), 0) << errors_;
  for (const char* name : {"encode", "decode"}) {
    EXPECT_EQ(run({"tokenizer", name, at("corpus/a.txt")}), 2);
    EXPECT_NE(errors_.find("give --tokenizer-model, or --vocab-file and --merge-file"),
              std::string::npos)
        << errors_;
    EXPECT_EQ(code({name, at("corpus/a.txt"), "--tokenizer-model", at("new/tokenizer")}), 2);
    EXPECT_NE(errors_.find("are both given"), std::string::npos) << errors_;
  }
  EXPECT_EQ(run({"tokenizer", "encode", at("corpus/a.txt"), "--tokenizer-model", at("absent")}), 1);
  EXPECT_NE(errors_.find("absent"), std::string::npos) << errors_;
}

TEST_F(TokenizerCommands, TheEndOfADocumentMustBeASpecialToken) {
  ASSERT_EQ(train(), 0) << errors_;
  EXPECT_EQ(code({"encode", at("corpus/a.txt"), "--eod-token", "<|endoftext|>"}), 0) << errors_;
  EXPECT_EQ(code({"encode", at("corpus/a.txt"), "--eod-token", "oars"}), 2);
  EXPECT_NE(errors_.find("--eod-token: \"oars\" is no special token"), std::string::npos)
      << errors_;
  EXPECT_NE(errors_.find("it has '<|endoftext|>'"), std::string::npos) << errors_;
}

TEST_F(TokenizerCommands, TrainsByAnyPatternAndEncodesByIt) {
  for (const std::string pattern : {"llama3", R"([a-z]+|[^a-z]+)"}) {
    ASSERT_EQ(run({"tokenizer", "train", at("corpus"), "--vocab-size", "290", "--output", at("b"),
                   "--split-pattern", pattern, "--special-tokens", "<|end_of_text|>"}),
              0)
        << errors_;
    const auto tokenizer = text::Tokenizer::load(folder_ / "b");
    const std::string_view named = text::named_pattern(pattern);
    EXPECT_EQ(tokenizer.vocabulary().split_pattern, named.empty() ? pattern : named);
    const std::string text = "long bank.\n\nof\n 12345";
    write_file(folder_ / "c.txt", text);
    ASSERT_EQ(run({"tokenizer", "encode", at("c.txt"), "--tokenizer-model", at("b")}), 0)
        << errors_;
    std::string expected;
    for (const int32_t id : tokenizer.encode(text)) expected += std::to_string(id) + " ";
    expected.back() = '\n';
    EXPECT_EQ(output_, expected);
  }
  EXPECT_EQ(run({"tokenizer", "train", at("corpus"), "--vocab-size", "290", "--output", at("b"),
                 "--split-pattern", R"(\w+)"}),
            2);
  EXPECT_NE(errors_.find("--split-pattern: at offset 0"), std::string::npos) << errors_;
}

TEST_F(TokenizerCommands, TrainRefusesWhatCannotBe) {
  EXPECT_EQ(run({"tokenizer", "train", at("corpus"), "--vocab-size", "256", "--output", at("x")}),
            2);
  EXPECT_EQ(run({"tokenizer", "train", at("absent"), "--vocab-size", "300", "--output", at("x")}),
            1);
  EXPECT_NE(errors_.find("absent"), std::string::npos);
  EXPECT_EQ(run({"tokenizer", "train", at("corpus/a.txt"), "--json-keys", "title", "--vocab-size",
                 "300", "--output", at("x")}),
            2);
  EXPECT_NE(errors_.find("--json-keys: has no effect"), std::string::npos) << errors_;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "x"));
}

TEST_F(TokenizerCommands, EncodedAndDecodedTextIsTheSame) {
  ASSERT_EQ(train(), 0) << errors_;
  const std::string odd("long \xFF\x00 bank\n\n  oars\r\n", 22);
  write_file(folder_ / "odd", odd);
  ASSERT_EQ(code({"encode", at("odd"), at("corpus/a.txt")}), 0) << errors_;
  EXPECT_EQ(std::count(output_.begin(), output_.end(), '\n'), 2);
  write_file(folder_ / "ids", output_);
  ASSERT_EQ(code({"decode", at("ids")}), 0) << errors_;
  EXPECT_EQ(output_, odd + read_file(folder_ / "corpus" / "a.txt"));
  // A folder stands for its files.
  make_folder(folder_ / "many" / "deep");
  std::filesystem::copy(folder_ / "ids", folder_ / "many" / "deep" / "ids");
  ASSERT_EQ(code({"decode", at("many")}), 0) << errors_;
  EXPECT_EQ(output_, odd + read_file(folder_ / "corpus" / "a.txt"));
}

TEST_F(TokenizerCommands, ADocumentOfManyPiecesIsOneLineWithTheTokensOfTheWhole) {
  ASSERT_EQ(train(), 0) << errors_;
  std::string text;
  while (text.size() < 3'000'000) text += "The oars of the\nupper bank\n\n  are long.\n";
  write_file(folder_ / "large", text);
  ASSERT_EQ(code({"encode", at("large")}), 0) << errors_;
  std::string expected;
  for (const int32_t id : text::Tokenizer::load(folder_ / "new" / "tokenizer").encode(text))
    expected += std::to_string(id) + " ";
  expected.back() = '\n';
  EXPECT_TRUE(output_ == expected);
}

TEST_F(TokenizerCommands, LinesAndJsonObjectsAreDocuments) {
  ASSERT_EQ(train(), 0) << errors_;
  write_file(folder_ / "c.txt", "oars\n\nbank of\n");
  ASSERT_EQ(code({"encode", "--lines", at("c.txt"), at("corpus/b.jsonl")}), 0) << errors_;
  EXPECT_EQ(std::count(output_.begin(), output_.end(), '\n'), 4);
  write_file(folder_ / "ids", output_);
  ASSERT_EQ(code({"decode", "--lines", at("ids")}), 0) << errors_;
  EXPECT_EQ(output_, "oars\nbank of\nThe oars\nof the bank\n");
}

TEST_F(TokenizerCommands, CountsFilesAndTheirSum) {
  ASSERT_EQ(train(), 0) << errors_;
  write_file(folder_ / "c.txt", "<|endoftext|>");
  ASSERT_EQ(
      code({"encode", "--count", "--parse-special-tokens", at("c.txt"), at("corpus/b.jsonl")}), 0)
      << errors_;
  const auto words_of_line_with = [&](const std::string& part) {
    std::istringstream lines(output_);
    for (std::string line; std::getline(lines, line);) {
      if (line.find(part) == std::string::npos) continue;
      std::istringstream in(line);
      return std::vector<std::string>(std::istream_iterator<std::string>(in), {});
    }
    return std::vector<std::string>(4);
  };
  const std::vector<std::string> text = words_of_line_with("c.txt");
  EXPECT_EQ((std::vector<std::string>(text.begin() + 1, text.begin() + 4)),
            (std::vector<std::string>{"1", "13", "1"}));
  EXPECT_EQ(words_of_line_with("b.jsonl")[1], "2");
  EXPECT_EQ(words_of_line_with("b.jsonl")[2], "19");
  EXPECT_EQ(words_of_line_with("total")[1], "3");
  EXPECT_EQ(words_of_line_with("total")[2], "32");
}

TEST_F(TokenizerCommands, DecodeRefusesWhatIsNoId) {
  ASSERT_EQ(train(), 0) << errors_;
  for (const std::string word :
       {"x", "-1", "1.5", "300", "99999999999999999999999", "4294967296"}) {
    write_file(folder_ / "ids", "1 2\n3 " + word + " 4\n");
    EXPECT_EQ(code({"decode", at("ids")}), 1) << word;
    EXPECT_NE(errors_.find("ids line 2: \"" + word.substr(0, 20)), std::string::npos) << errors_;
  }
}

}  // namespace
}  // namespace trireme::app
