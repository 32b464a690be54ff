// trireme tokenizer encode: text to token ids.

#include <exception>
#include <iterator>

#include "app/commands.h"
#include "app/tokenizer_files.h"
#include "app/tokenizer_input.h"
#include "config/groups/tokenizer.h"
#include "config/groups/tokenizer_code.h"
#include "config/groups/tokenizer_encode.h"
#include "core/format.h"
#include "core/log.h"
#include "core/table.h"
#include "core/thread_pool.h"
#include "data/json_texts.h"
#include "text/tokenizer.h"

namespace trireme::app {
namespace {

struct Options {
  config::TokenizerCodeOptions code;
  config::TokenizerEncodeOptions encode;
  config::TokenizerOptions tokenizer;
};

void declare(Options& options, config::OptionSet& set) {
  set.add(options.code);
  set.add(options.encode);
  set.add(options.tokenizer);
}

struct Counts {
  uint64_t documents = 0;
  uint64_t bytes = 0;
  uint64_t tokens = 0;

  Counts& operator+=(const Counts& more) {
    documents += more.documents;
    bytes += more.bytes;
    tokens += more.tokens;
    return *this;
  }
};

/// What comes of one piece of the corpus.
struct Encoded {
  std::string ids;  // in decimal with a space between; empty when only counts are wanted
  Counts counts;
  std::exception_ptr failure;
};

/// What one thread needs.
struct Worker {
  text::Encoder encoder;
  data::JsonTexts json;
  std::vector<int32_t> tokens;
};

std::string count_table(const std::vector<Path>& files, const std::vector<Counts>& counts) {
  using Align = TextTable::Align;
  TextTable table({{"file", Align::left},
                   {"documents", Align::right},
                   {"bytes", Align::right},
                   {"tokens", Align::right},
                   {"bytes per token", Align::right}});
  const auto row = [&](const std::string& name, const Counts& of) {
    const double ratio = static_cast<double>(of.bytes) / static_cast<double>(of.tokens);
    table.row({name, format("{}", of.documents), format("{}", of.bytes), format("{}", of.tokens),
               of.tokens == 0 ? "-" : format("{:.2f}", ratio)});
  };
  Counts total;
  for (size_t file = 0; file < files.size(); ++file) {
    row(files[file].string(), counts[file]);
    total += counts[file];
  }
  if (files.size() > 1) {
    table.rule();
    row("total", total);
  }
  std::string text = table.text();
  text.pop_back();  // say() ends the line
  return text;
}

class Encoding {
 public:
  Encoding(const Options& options, const text::Tokenizer& tokenizer)
      : options_(options),
        reader_({.inputs = input_paths(options.code.input),
                 .split_documents_on = options.code.lines ? "\n" : "",
                 .cuts_at_lines = tokenizer.cuts_at_lines()}),
        pool_(usable_cores()),
        counts_(reader_.files().size()) {
    check_json_keys(options.encode.json_keys, reader_);
    for (int thread = 0; thread < pool_.threads(); ++thread) {
      workers_.push_back({text::Encoder(tokenizer), data::JsonTexts(options.encode.json_keys), {}});
    }
  }

  void run() {
    constexpr size_t kBatchBytesPerThread = size_t{2} << 20;
    data::CorpusBatch batch;
    std::vector<Encoded> encoded;
    while (reader_.next(batch, kBatchBytesPerThread * workers_.size())) {
      encoded.assign(batch.pieces.size(), {});
      pool_.parallel_for(static_cast<int64_t>(encoded.size()), [&](int64_t index, int thread) {
        Encoded& out = encoded[static_cast<size_t>(index)];
        try {
          encode(batch, batch.pieces[static_cast<size_t>(index)],
                 workers_[static_cast<size_t>(thread)], out);
        } catch (...) {
          out.failure = std::current_exception();
        }
      });
      for (size_t piece = 0; piece < encoded.size(); ++piece)
        finish(batch.pieces[piece], encoded[piece]);
    }
    if (options_.encode.count) say(count_table(reader_.files(), counts_));
  }

 private:
  void encode(const data::CorpusBatch& batch, const data::CorpusPiece& piece, Worker& worker,
              Encoded& out) const {
    worker.tokens.clear();
    const auto add = [&](std::string_view text) {
      out.counts.bytes += text.size();
      worker.encoder.encode(text, worker.tokens,
                            {.parse_special_tokens = options_.encode.parse_special_tokens});
    };
    if (piece.is_json) {
      const Path& file = reader_.files()[piece.file];
      for (const auto& texts : worker.json.parse(batch.text(piece), file, piece.line)) {
        for (const std::string_view text : texts) add(text);
      }
    } else {
      add(batch.text(piece));
    }
    out.counts.documents = piece.ends_document ? 1 : 0;
    out.counts.tokens = worker.tokens.size();
    if (options_.encode.count) return;
    for (const int32_t token : worker.tokens)
      fmt::format_to(std::back_inserter(out.ids), "{} ", token);
    if (!out.ids.empty()) out.ids.pop_back();
  }

  void finish(const data::CorpusPiece& piece, const Encoded& encoded) {
    if (encoded.failure) std::rethrow_exception(encoded.failure);
    counts_[piece.file] += encoded.counts;
    if (options_.encode.count) return;
    if (line_open_ && !encoded.ids.empty()) write_output(" ");
    write_output(encoded.ids);
    line_open_ = !piece.ends_document && (line_open_ || !encoded.ids.empty());
    if (piece.ends_document) write_output("\n");
  }

  const Options& options_;
  data::CorpusReader reader_;
  ThreadPool pool_;
  std::vector<Worker> workers_;  // by thread
  std::vector<Counts> counts_;   // by file
  bool line_open_ = false;       // ids of this document were written already
};

int run(const Options& options, const config::OptionSet& /*set*/) {
  const text::Tokenizer tokenizer = require_tokenizer(options.tokenizer);
  Encoding(options, tokenizer).run();
  return 0;
}

}  // namespace

Command tokenizer_encode_command() {
  return make_command<Options>(
      {.name = "tokenizer encode",
       .summary = "print the token ids of text",
       .about =
           "Prints the token ids of each document on a line of its own. A document is a file of "
           "plain text (with --lines one of its lines; empty ones are left out) or a line of "
           "JSONL, "
           "whose text is taken from the keys of --json-keys; files whose names end in .jsonl, "
           ".ndjson or .json are JSONL. A folder stands for all files in it and in the folders "
           "below, in the order of their paths.\n"
           "Any bytes can be encoded, and trireme tokenizer decode gives them back. For training "
           "use trireme preprocess, which writes binary files.",
       .examples =
           "echo 'Three banks of oars.' | trireme tokenizer encode --tokenizer-model tokenizer\n"
           "trireme tokenizer encode notes.txt --lines --tokenizer-model llama3/tokenizer.json > "
           "notes.ids\n"
           "trireme tokenizer encode books/ corpus.jsonl --count --vocab-file vocab.json "
           "--merge-file merges.txt"},
      declare, run);
}

}  // namespace trireme::app
