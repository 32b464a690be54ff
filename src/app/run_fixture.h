#pragma once
// What the tests of whole runs share: the built program in a shell, and a folder with corpus,
// tokenizer and dataset that the program has made.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "core/file.h"
#include "core/format.h"

namespace trireme::app {

struct Outcome {
  int status = -1;
  std::string text;
};

inline Outcome shell(const std::string& line) {
  std::FILE* pipe = ::popen(line.c_str(), "r");
  if (pipe == nullptr) return {};
  Outcome outcome;
  std::array<char, 4096> buffer = {};
  while (const size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe))
    outcome.text.append(buffer.data(), n);
  const int status = ::pclose(pipe);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  return outcome;
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Sentences of our own with enough order in them to be learnt.
inline std::string corpus() {
  const std::array<const char*, 6> who = {"the rower",    "the helmsman", "a tall mast",
                                          "the long oar", "her captain",  "one bank"};
  const std::array<const char*, 5> does = {"pulls", "turns", "watches", "follows", "answers"};
  const std::array<const char*, 6> what = {"the stern",    "a slow drum", "the open sea",
                                           "every stroke", "the harbour", "its shadow"};
  std::string text;
  uint32_t state = 12345;
  const auto next = [&](size_t below) {
    state = state * 1664525U + 1013904223U;
    return (state >> 16) % below;
  };
  for (int document = 0; document < 120; ++document) {
    text += "{\"text\": \"";
    for (int sentence = 0; sentence < 12; ++sentence) {
      text += format("{} {} {}. ", who[next(6)], does[next(5)], what[next(6)]);
    }
    text += "\"}\n";
  }
  return text;
}

// A folder with corpus, tokenizer and dataset, made once by the program itself.
class RunTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::string pattern = testing::TempDir() + "trireme-run-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
    write_file(folder_ / "corpus.jsonl", corpus());
    const Outcome tokenizer =
        run("tokenizer train --input corpus.jsonl --json-keys text --vocab-size 300 --output "
            "tokenizer");
    ASSERT_EQ(tokenizer.status, 0) << tokenizer.text;
    const Outcome dataset =
        run("preprocess --input corpus.jsonl --output-prefix corpus --append-eod " + kTokenizer);
    ASSERT_EQ(dataset.status, 0) << dataset.text;
  }
  static void TearDownTestSuite() { std::filesystem::remove_all(folder_); }

  // Standard output and error together, in the folder.
  static Outcome run(const std::string& arguments) {
    return shell(format("cd '{}' && '{}' {} 2>&1", folder_.string(), TRIREME_PROGRAM, arguments));
  }
  // Standard error alone.
  static Outcome errors(const std::string& arguments) {
    return shell(
        format("cd '{}' && '{}' {} 2>&1 >/dev/null", folder_.string(), TRIREME_PROGRAM, arguments));
  }
  static std::string train(const std::string& more) {
    return "train --num-layers 1 --hidden-size 32 --num-attention-heads 2 --seq-length 32 "
           "--micro-batch-size 4 "
           "--global-batch-size 8 --lr 1e-2 --lr-warmup-iters 2 --lr-decay-iters 30 --log-interval "
           "5 --eval-interval 15 "
           "--eval-iters 2 --split 90,10 --data-path corpus_text_document " +
           kTokenizer + " " + more;
  }

  static std::string bare(const std::string& more) {
    return "train --num-layers 1 --hidden-size 32 --seq-length 32 --micro-batch-size 4 --lr 1e-2 "
           "--train-iters 2 " +
           kTokenizer + " " + more;
  }

  inline static const std::string kTokenizer = "--tokenizer-model tokenizer";
  inline static Path folder_;
};

// The losses of a metrics file, line by line, without times.
inline std::string losses(const Path& file) {
  std::string found;
  const std::string text = read_file(file);
  size_t at = 0;
  while ((at = text.find("\"loss\":", at)) != std::string::npos) {
    const size_t end = text.find(',', at);
    found += text.substr(at, end - at) + "\n";
    at = end;
  }
  return found;
}

}  // namespace trireme::app
