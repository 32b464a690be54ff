// trireme tokenizer decode: token ids to text.

#include <algorithm>

#include "app/commands.h"
#include "app/tokenizer_files.h"
#include "app/tokenizer_input.h"
#include "config/groups/tokenizer.h"
#include "config/groups/tokenizer_code.h"
#include "core/error.h"
#include "core/format.h"
#include "data/corpus_reader.h"
#include "text/tokenizer.h"

namespace trireme::app {
namespace {

struct Options {
  config::TokenizerCodeOptions code;
  config::TokenizerOptions tokenizer;
};

void declare(Options& options, config::OptionSet& set) {
  set.add(options.code);
  set.add(options.tokenizer);
}

/// Reads ids byte by byte, so that a document of any length needs no memory.
class Decoding {
 public:
  Decoding(const text::Tokenizer& tokenizer, const Path& file, bool line_ends)
      : tokenizer_(tokenizer), file_(file), line_ends_(line_ends) {}

  void read(std::string_view bytes) {
    for (const char byte : bytes) {
      if (byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n') {
        finish_word();
        if (byte == '\n') finish_line();
      } else if (word_.size() < kLongestWord) {
        word_ += byte;
      } else {
        refuse();
      }
    }
    write_output(out_);
    out_.clear();
  }

  void finish() {
    finish_word();
    if (line_begun_) finish_line();
    write_output(out_);
  }

 private:
  static constexpr size_t kLongestWord = 20;

  void finish_word() {
    if (word_.empty()) return;
    int64_t id = 0;
    for (const char digit : word_) {
      if (digit < '0' || digit > '9') refuse();
      id = std::min<int64_t>(10 * id + (digit - '0'), INT32_MAX);
    }
    if (id >= tokenizer_.vocab_size()) refuse();
    out_ += tokenizer_.token_bytes(static_cast<int32_t>(id));
    word_.clear();
    line_begun_ = true;
  }

  void finish_line() {
    ++line_;
    line_begun_ = false;
    if (line_ends_) out_ += '\n';
  }

  [[noreturn]] void refuse() const {
    fail({.where = format("{} line {}", file_.string(), line_),
          .what = format("\"{}\" is no token id", word_),
          .rule = format("ids are whole numbers from 0 to {} with spaces between",
                         tokenizer_.vocab_size() - 1),
          .remedy = "use the tokenizer by which the text was encoded"});
  }

  const text::Tokenizer& tokenizer_;
  const Path& file_;
  bool line_ends_;
  std::string word_;
  std::string out_;
  int64_t line_ = 1;
  bool line_begun_ = false;
};

int run(const Options& options, const config::OptionSet& /*set*/) {
  const text::Tokenizer tokenizer = require_tokenizer(options.tokenizer);
  std::string block(size_t{256} << 10, '\0');
  // The reader of corpora knows what a folder stands for and what is compressed.
  const data::CorpusReader corpus({.inputs = input_paths(options.code.input)});
  for (const Path& path : corpus.files()) {
    data::TextFile file(path);
    Decoding decoding(tokenizer, path, options.code.lines);
    while (const size_t got = file.read(block))
      decoding.read(std::string_view(block).substr(0, got));
    decoding.finish();
  }
  return 0;
}

}  // namespace

Command tokenizer_decode_command() {
  return make_command<Options>(
      {.name = "tokenizer decode",
       .summary = "print the text of token ids",
       .about =
           "Reads token ids, a document on each line, as trireme tokenizer encode prints them, and "
           "writes the bytes of the documents, with nothing between them; with --lines a line feed "
           "behind each. A folder stands for all files in it and in the folders below, in the "
           "order of their paths; files may be compressed (.gz, .zst).",
       .examples =
           "echo '12510 6341 286 267 945 13' | trireme tokenizer decode --lines --vocab-file "
           "vocab.json --merge-file merges.txt\n"
           "trireme tokenizer decode notes.ids --lines --tokenizer-model llama3/tokenizer.json > "
           "notes.txt"},
      declare, run);
}

}  // namespace trireme::app
