// trireme preprocess from the command line to the files.

#include <gtest/gtest.h>
#include <unistd.h>

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
