// trireme preprocess from the command line to the files.

#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "app/commands.h"
#include "app/program.h"
#include "core/file.h"
#include "data/indexed_dataset.h"
#include "text/tokenizer.h"
#include "text/vocabulary.h"

namespace trireme::app {
namespace {

class PreprocessCommandTest : public testing::Test {
 protected:
  PreprocessCommandTest() {
    std::string pattern = testing::TempDir() + "trireme-app-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
    const std::vector<std::string> special = {std::string(text::kEndOfText)};
    text::Tokenizer(text::make_vocabulary({}, special)).save(folder_);
  }
  ~PreprocessCommandTest() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string at(const std::string& name) const { return (folder_ / name).string(); }

  int run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "preprocess");
    for (const char* name : {"vocab", "merge"}) {
      arguments.push_back(std::string("--") + name + "-file");
      arguments.push_back(at(std::string(name) == "vocab" ? "vocab.json" : "merges.txt"));
    }
    const std::vector<Command> commands = {preprocess_command()};
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int status = guarded_program(commands, arguments);
    output_ = testing::internal::GetCapturedStdout();
    errors_ = testing::internal::GetCapturedStderr();
    return status;
  }
  [[nodiscard]] bool said(const std::string& part) const {
    return output_.find(part) != std::string::npos;
  }

  Path folder_;
  std::string output_;
  std::string errors_;
};

TEST_F(PreprocessCommandTest, WritesTheDatasetAndSaysWhatAndWhatNext) {
  write_file(folder_ / "c.jsonl", "{\"text\": \"abc\"}\n{\"text\": \"\"}\n{\"text\": \"de\"}\n");
  ASSERT_EQ(run({"--input", at("c.jsonl"), "--output-prefix", at("my data"), "--append-eod"}), 0)
      << errors_;
  const data::IndexedDataset dataset(folder_ / "my data_text_document");
  EXPECT_EQ(dataset.documents(), 3);
  EXPECT_EQ(dataset.tokens(), 7);
  EXPECT_TRUE(said("my data_text_document: 3 documents, 7 tokens, 14 B as u16, 2 sequences"))
      << output_;
  EXPECT_TRUE(said("next: trireme train --data-path '" + at("my data_text_document") + "'"));
  EXPECT_TRUE(said("--eval-iters 0")) << "three documents leave none to validate on";
  EXPECT_FALSE(said("note:"));
}

TEST_F(PreprocessCommandTest, TakesMegatronsOptionsAndSeveralInputs) {
  write_file(folder_ / "a.txt", "abc");
  write_file(folder_ / "b.txt", "de");
  ASSERT_EQ(run({"--input", at("a.txt"), at("b.txt"), "--json-keys", "text", "--workers", "2",
                 "--output-prefix", at("x")}),
            0)
      << errors_;
  EXPECT_EQ(data::IndexedDataset(folder_ / "x_text_document").tokens(), 5);
  EXPECT_TRUE(said("note: no end-of-document tokens"));
}

TEST_F(PreprocessCommandTest, MergesAndInspectsWhatItWrote) {
  write_file(folder_ / "a.txt", "abc==de==f");
  write_file(folder_ / "b.jsonl", "{\"text\": \"xyz\"}\nnoise\n");
  ASSERT_EQ(run({"--input", at("a.txt"), "--split-documents-on", "==", "--append-eod",
                 "--output-prefix", at("a")}),
            0)
      << errors_;
  ASSERT_EQ(
      run({at("b.jsonl"), "--on-bad-line", "skip", "--append-eod", "--output-prefix", at("b")}), 0)
      << errors_;
  EXPECT_NE(errors_.find("1 lines were skipped"), std::string::npos) << errors_;
  EXPECT_NE(errors_.find("b.jsonl:2: not valid JSON"), std::string::npos) << errors_;
  EXPECT_NE(errors_.find("Processed 1 documents ("), std::string::npos) << errors_;
  ASSERT_EQ(
      run({"--merge", at("a_text_document"), at("b_text_document"), "--output-prefix", at("all")}),
      0)
      << errors_;
  EXPECT_TRUE(said("2 datasets joined, 4 documents, 4 sequences, 13 tokens as u16")) << output_;
  ASSERT_EQ(run({"--inspect", at("all")}), 0) << errors_;
  for (const char* part : {"4 documents", "shortest 2, median 3, mean 3.2, longest 4",
                           "largest token id 256, vocabulary of 257", "4 tokens end a document",
                           "sequence 1: de<|endoftext|>"}) {
    EXPECT_TRUE(said(part)) << part << "\n" << output_;
  }
  ASSERT_EQ(run({"--inspect", at("all"), "--json"}), 0) << errors_;
  const auto json = nlohmann::json::parse(output_);
  EXPECT_EQ(json["tokens"], 13);
  EXPECT_EQ(json["eod_tokens"], 4);
  EXPECT_EQ(json["first_sequences"][0]["text"], "abc<|endoftext|>");
}

TEST_F(PreprocessCommandTest, RefusesWhatDoesNotGoTogether) {
  write_file(folder_ / "a.txt", "abc");
  const auto refused = [&](std::vector<std::string> arguments, const char* part) {
    return run(std::move(arguments)) == 2 && errors_.find(part) != std::string::npos;
  };
  EXPECT_TRUE(refused({}, "there is nothing to do"));
  EXPECT_TRUE(refused({at("a.txt")}, "input without output-prefix"));
  EXPECT_TRUE(refused({at("a.txt"), "--inspect", at("a")}, "are both given"));
  EXPECT_TRUE(refused({"--inspect", at("a"), "--append-eod"}, "has no effect with inspect"));
  EXPECT_TRUE(
      refused({"--merge", at("a"), "--output-prefix", at("b"), "--json"}, "json without inspect"));
  EXPECT_TRUE(refused({at("a.txt"), "--output-prefix", at("b"), "--split-documents-on", "\\q"},
                      "behind a backslash"));
}

TEST_F(PreprocessCommandTest, FailsWithOneMessageAndNoFiles) {
  write_file(folder_ / "c.jsonl", "{\"text\": \"abc\"}\n{\"text\": 7}\n");
  EXPECT_EQ(run({"--input", at("c.jsonl"), "--output-prefix", at("x")}), 1);
  EXPECT_NE(errors_.find("c.jsonl:2: \"text\" is a number"), std::string::npos) << errors_;
  EXPECT_EQ(output_, "");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "x_text_document.idx"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "x_text_document.bin"));
  EXPECT_EQ(run({"--output-prefix", at("x")}), 2) << "no input";
}

}  // namespace
}  // namespace trireme::app
