#include "data/preprocess.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>

#include "data/legacy_shuffler.h"
#include "data/test_dataset.h"
#include "text/vocabulary.h"

namespace trireme::data {
namespace {

text::Tokenizer small_tokenizer(bool with_eod = true) {
  const text::Tokenizer bytes(text::make_vocabulary({}, {}));
  const auto pair = [&](const char* left, const char* right) {
    return text::Merge{bytes.id_of(left).value(), bytes.id_of(right).value()};
  };
  const std::vector<text::Merge> merges = {pair("a", "b"), pair("b", "a"), pair(" ", "a"),
                                           pair("\n", "\n")};
  std::vector<std::string> special;
  if (with_eod) special.emplace_back(text::kEndOfText);
  return text::Tokenizer(text::make_vocabulary(merges, special));
}

std::string json_string(const std::string& text) {
  std::string quoted(1, '"');
  for (const char c : text) {
    if (c == '\n') {
      quoted += "\\n";
    } else {
      quoted += c;
    }
  }
  return quoted += '"';
}

class PreprocessTest : public FolderTest {
 protected:
  static std::string random_text(LegacyShuffler& random, size_t size) {
    constexpr std::string_view kLetters = "ab \nc";
    std::string text;
    while (text.size() < size) text += kLetters[random.bounded(4)];
    return text;
  }

  /// What the independent writer makes of texts, one sequence a document.
  [[nodiscard]] PlainFiles expected_files(const std::vector<std::string>& texts, bool eod) const {
    Documents documents;
    for (const std::string& text : texts) {
      const std::vector<int32_t> tokens = tokenizer_.encode(text);
      documents.emplace_back();
      if (tokens.empty()) continue;
      documents.back().emplace_back(tokens.begin(), tokens.end());
      if (eod) documents.back()[0].push_back(tokenizer_.end_of_text().value());
    }
    return plain_files(documents, 8, 2);
  }

  void expect_files(const std::string& prefix, const PlainFiles& expected) const {
    EXPECT_TRUE(read_file(folder_ / (prefix + ".idx")) == expected.idx) << prefix;
    EXPECT_TRUE(read_file(folder_ / (prefix + ".bin")) == expected.bin) << prefix;
  }

  Preprocessed run_whole(PreprocessOptions options, int threads = 2) const {
    ThreadPool pool(threads);
    options.show_progress = false;
    if (options.output_prefix.empty()) options.output_prefix = folder_ / "out";
    return preprocess(options, tokenizer_, pool);
  }
  std::vector<PreprocessedDataset> run(const PreprocessOptions& options, int threads = 2) const {
    return run_whole(options, threads).datasets;
  }

  [[nodiscard]] std::string refusal(const PreprocessOptions& options) const {
    const std::vector<std::string> before = names();
    const std::string error = error_of([&] { run(options); });
    EXPECT_EQ(names(), before) << "something was left behind";
    return error;
  }

  text::Tokenizer tokenizer_ = small_tokenizer();
};

TEST_F(PreprocessTest, JsonlBecomesTheBytesOfAnIndependentWriterForAnyThreads) {
  LegacyShuffler random(1);
  std::vector<std::string> texts;
  std::string jsonl;
  for (int document = 0; document < 3000; ++document) {
    texts.push_back(random_text(random, random.bounded(10) == 0 ? 0 : random.bounded(2000)));
    jsonl += "{\"n\": 1, \"text\": ";
    jsonl += json_string(texts.back());
    jsonl += "}\n";
  }
  write_quickly(folder_ / "c.jsonl", jsonl);
  for (const bool eod : {false, true}) {
    const PlainFiles expected = expected_files(texts, eod);
    for (const int threads : {1, 2, 3}) {
      const auto datasets =
          run({.corpus = {.inputs = {folder_ / "c.jsonl"}}, .append_eod = eod}, threads);
      expect_files("out_text_document", expected);
      ASSERT_EQ(datasets.size(), 1U);
      EXPECT_EQ(datasets[0].prefix, folder_ / "out_text_document");
      EXPECT_EQ(datasets[0].documents, 3000);
      EXPECT_LT(datasets[0].sequences, 3000);
      EXPECT_EQ(datasets[0].tokens, static_cast<int64_t>(expected.bin.size() / 2));
      EXPECT_EQ(datasets[0].text_bytes, jsonl.size());
    }
  }
}

TEST_F(PreprocessTest, PlainTextsOfAnySizeBecomeTheBytesOfAnIndependentWriter) {
  LegacyShuffler random(2);
  std::vector<std::string> texts;
  std::vector<Path> inputs;
  for (const size_t size : {0UL, 10UL, 3'000'000UL, 0UL, 70'000UL, 1UL}) {
    texts.push_back(random_text(random, size));
    inputs.push_back(folder_ / std::to_string(inputs.size()));
    write_quickly(inputs.back(), texts.back());
  }
  for (const int threads : {1, 3}) {
    run({.corpus = {.inputs = inputs}, .append_eod = true}, threads);
    expect_files("out_text_document", expected_files(texts, true));
  }
}

TEST_F(PreprocessTest, TextsAndLinesMayBeMixed) {
  write_quickly(folder_ / "a.txt", "ab ab");
  write_quickly(folder_ / "b.jsonl", "{\"text\": \"ba\"}\n");
  run({.corpus = {.inputs = {folder_ / "a.txt", folder_ / "b.jsonl"}}, .append_eod = true});
  expect_files("out_text_document", expected_files({"ab ab", "ba"}, true));
}

TEST_F(PreprocessTest, EveryKeyBecomesADatasetOfItsOwn) {
  write_quickly(folder_ / "c.jsonl",
                "{\"a\": \"ab\", \"b\": \"cc\"}\n{\"a\": \"\", \"b\": \"a\"}\n");
  const auto datasets = run({.corpus = {.inputs = {folder_ / "c.jsonl"}}, .json_keys = {"b", "a"}});
  ASSERT_EQ(datasets.size(), 2U);
  EXPECT_EQ(datasets[0].key, "b");
  expect_files("out_b_document", expected_files({"cc", "a"}, false));
  expect_files("out_a_document", expected_files({"ab", ""}, false));
}

TEST_F(PreprocessTest, ArrayOfStringsBecomesSequencesWithTheEodOnTheLast) {
  write_quickly(folder_ / "c.jsonl", R"({"text": ["ab", "", "c"]})"
                                     "\n"
                                     R"({"text": ["", ""]})");
  run({.corpus = {.inputs = {folder_ / "c.jsonl"}}, .append_eod = true});
  const auto ids = [&](const char* text) {
    const std::vector<int32_t> tokens = tokenizer_.encode(text);
    return std::vector<int64_t>(tokens.begin(), tokens.end());
  };
  Documents documents = {{ids("ab"), ids("c")}, {}};
  documents[0][1].push_back(tokenizer_.end_of_text().value());
  expect_files("out_text_document", plain_files(documents, 8, 2));
}

TEST_F(PreprocessTest, TextOfTheEodInsideADocumentForgesNoEod) {
  write_quickly(folder_ / "a.txt", "ab<|endoftext|>ab");
  run({.corpus = {.inputs = {folder_ / "a.txt"}}});
  const std::string bin = read_file(folder_ / "out_text_document.bin");
  EXPECT_GT(bin.size() / 2, 10U);
}

TEST_F(PreprocessTest, FolderOfTheOutputIsMade) {
  write_quickly(folder_ / "a.txt", "ab");
  run({.corpus = {.inputs = {folder_ / "a.txt"}}, .output_prefix = folder_ / "new" / "deep" / "x"});
  EXPECT_TRUE(std::filesystem::exists(folder_ / "new" / "deep" / "x_text_document.idx"));
}

TEST_F(PreprocessTest, FirstBadLineIsToldAndNothingIsLeft) {
  std::string jsonl;
  for (int line = 1; line <= 20000; ++line) {
    jsonl += line == 15000 || line == 15001 || line == 19999
                 ? "{\"text\": \n"
                 : "{\"text\": \"" + std::string(100, 'a') + "\"}\n";
  }
  write_quickly(folder_ / "c.jsonl", jsonl);
  for (int round = 0; round < 5; ++round) {
    const std::string error = refusal({.corpus = {.inputs = {folder_ / "c.jsonl"}}});
    EXPECT_TRUE(contains(error, "c.jsonl:15000: ")) << error;
  }
}

TEST_F(PreprocessTest, BadLinesAreSkippedCountedAndTheFirstOnesToldWhereWanted) {
  std::string jsonl;
  std::vector<std::string> texts;
  const std::array<const char*, 4> bad = {"{\"text\": 7}\n", "[1]\n", "{\"text\": \"a\n",
                                          "{\"other\": \"a\"}\n"};
  for (int line = 1; line <= 20000; ++line) {
    if (line % 1000 == 500) {
      jsonl += bad[static_cast<size_t>(line / 1000) % bad.size()];
      continue;
    }
    texts.push_back(std::string(static_cast<size_t>(line % 50 + 1), 'a'));
    jsonl += "{\"text\": \"" + texts.back() + "\"}\n";
  }
  write_quickly(folder_ / "c.jsonl", jsonl);
  for (const int threads : {1, 3}) {
    const Preprocessed done = run_whole({.corpus = {.inputs = {folder_ / "c.jsonl"}},
                                         .append_eod = true,
                                         .on_bad_line = OnBadLine::skip},
                                        threads);
    expect_files("out_text_document", expected_files(texts, true));
    EXPECT_EQ(done.skipped_lines, 20);
    ASSERT_EQ(done.first_skipped.size(), 5U);
    EXPECT_TRUE(contains(done.first_skipped[0], "c.jsonl:500: \"text\" is a number"));
    EXPECT_TRUE(contains(done.first_skipped[4], "c.jsonl:4500: "));
  }
  write_quickly(folder_ / "d.jsonl", "nothing\nbut\nnoise\n");
  const std::string error =
      refusal({.corpus = {.inputs = {folder_ / "d.jsonl"}}, .on_bad_line = OnBadLine::skip});
  EXPECT_TRUE(contains(error, "3 lines were skipped, the first: ")) << error;
}

TEST_F(PreprocessTest, CorpusWithoutTextIsRefused) {
  write_quickly(folder_ / "a.txt", "");
  write_quickly(folder_ / "b.jsonl", "\n\n");
  write_quickly(folder_ / "c.jsonl", "{\"text\": \"\"}\n");
  for (const char* name : {"a.txt", "b.jsonl", "c.jsonl"}) {
    const std::string error = refusal({.corpus = {.inputs = {folder_ / name}}, .append_eod = true});
    EXPECT_TRUE(contains(error, "no token")) << error;
  }
}

// A corpus that takes a while: many batches.
std::string long_jsonl() {
  std::string jsonl;
  for (int line = 0; line < 40000; ++line)
    jsonl += "{\"text\": \"" + std::string(400, 'a') + "\"}\n";
  return jsonl;
}

TEST_F(PreprocessTest, KilledAtAnyMomentLeavesNothingThatLooksWhole) {
  write_quickly(folder_ / "c.jsonl", long_jsonl());
  const PreprocessOptions options = {.corpus = {.inputs = {folder_ / "c.jsonl"}},
                                     .output_prefix = folder_ / "out",
                                     .show_progress = false};
  const auto run_in_child = [&](int microseconds) {
    const pid_t child = ::fork();
    if (child == 0) {
      ThreadPool pool(2);
      static_cast<void>(preprocess(options, tokenizer_, pool));
      std::_Exit(0);
    }
    if (microseconds >= 0) {
      ::usleep(static_cast<useconds_t>(microseconds));
      ::kill(child, SIGKILL);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFEXITED(status);
  };
  const auto start = std::chrono::steady_clock::now();
  ASSERT_TRUE(run_in_child(-1));
  const auto whole = std::chrono::duration_cast<std::chrono::microseconds>(
                         std::chrono::steady_clock::now() - start)
                         .count();
  const std::string idx = read_file(folder_ / "out_text_document.idx");
  const std::string bin = read_file(folder_ / "out_text_document.bin");
  int killed = 0;
  for (int round = 0; round < 12; ++round) {
    std::filesystem::remove(folder_ / "out_text_document.idx");
    std::filesystem::remove(folder_ / "out_text_document.bin");
    killed += run_in_child(static_cast<int>(whole * round / 10)) ? 0 : 1;
    if (!std::filesystem::exists(folder_ / "out_text_document.idx")) continue;
    EXPECT_TRUE(read_file(folder_ / "out_text_document.idx") == idx);
    EXPECT_TRUE(read_file(folder_ / "out_text_document.bin") == bin);
  }
  EXPECT_GT(killed, 3);
  // The next run takes away what the killed ones left.
  ASSERT_TRUE(run_in_child(-1));
  EXPECT_EQ(names(), (std::vector<std::string>{"c.jsonl", "out_text_document.bin",
                                               "out_text_document.idx"}));
}

TEST_F(PreprocessTest, FullDiskIsToldAndLeavesNothing) {
  write_quickly(folder_ / "c.jsonl", long_jsonl());
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // A limit on the size of files stands for a disk that fills up.
    const rlimit limit = {3 << 20, 3 << 20};
    std::signal(SIGXFSZ, SIG_IGN);
    ::setrlimit(RLIMIT_FSIZE, &limit);
    ThreadPool pool(2);
    const std::string error = error_of([&] {
      static_cast<void>(preprocess({.corpus = {.inputs = {folder_ / "c.jsonl"}},
                                    .output_prefix = folder_ / "out",
                                    .show_progress = false},
                                   tokenizer_, pool));
    });
    std::_Exit(contains(error, "out_text_document.bin: cannot write: File too large") ? 7 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_EQ(names(), std::vector<std::string>{"c.jsonl"});
}

TEST_F(PreprocessTest, OptionsThatCannotBeHonouredAreRefused) {
  write_quickly(folder_ / "a.txt", "ab");
  write_quickly(folder_ / "b.jsonl", "{\"a\": \"ab\"}");
  const CorpusOptions text = {.inputs = {folder_ / "a.txt"}};
  const CorpusOptions jsonl = {.inputs = {folder_ / "b.jsonl"}};
  EXPECT_TRUE(contains(refusal({.corpus = text, .json_keys = {"a"}}), "is plain text"));
  EXPECT_TRUE(contains(refusal({.corpus = jsonl, .json_keys = {}}), "names no key"));
  EXPECT_TRUE(contains(refusal({.corpus = jsonl, .json_keys = {"a", "a"}}), "twice"));
  EXPECT_TRUE(contains(refusal({.corpus = jsonl, .json_keys = {"a/b"}}), "file name"));
  tokenizer_ = small_tokenizer(false);
  EXPECT_TRUE(contains(refusal({.corpus = text, .append_eod = true}), "<|endoftext|>"));
}

}  // namespace
}  // namespace trireme::data
