// trireme preprocess: text to the token files that training reads.

#include "app/commands.h"
#include "app/tokenizer_files.h"
#include "config/groups/data.h"
#include "config/groups/preprocess.h"
#include "config/groups/tokenizer.h"
#include "core/format.h"
#include "core/log.h"
#include "data/preprocess.h"
#include "data/sample_index.h"

namespace trireme::app {
namespace {

struct Options {
  config::PreprocessOptions preprocess;
  config::TokenizerOptions tokenizer;
};

void declare(Options& options, config::OptionSet& set) {
  set.add(options.preprocess);
  set.add(options.tokenizer);
}

std::string summary(const data::PreprocessedDataset& dataset) {
  const auto bytes = static_cast<double>(dataset.tokens * bytes_of(dataset.token_type));
  std::string text =
      format("{}: {} documents, {} tokens, {} as {}", dataset.prefix.string(), dataset.documents,
             dataset.tokens, bytes_text(bytes), name_of(dataset.token_type));
  if (dataset.sequences != dataset.documents) text += format(", {} sequences", dataset.sequences);
  return text;
}

// A command that trains on the dataset as it is.
std::string next_command(const data::PreprocessedDataset& dataset,
                         const config::TokenizerOptions& tokenizer) {
  std::string text = format("trireme train --data-path {} {}", shell_word(dataset.prefix.string()),
                            tokenizer_words(tokenizer));
  text +=
      " --num-layers 4 --hidden-size 256 --num-attention-heads 4 --seq-length 128"
      " --micro-batch-size 8 --train-iters 200 --lr 1e-3 --save checkpoints";
  const config::DataOptions defaults;
  const bool can_validate =
      data::split_ranges(defaults.split_or_default(), dataset.sequences)[1].size() > 0;
  // Too few documents for a part of their own.
  if (!can_validate) text += " --eval-iters 0";
  return text;
}

int run(const Options& options, const config::OptionSet& /*set*/) {
  const config::PreprocessOptions& preprocess = options.preprocess;
  const text::Tokenizer tokenizer = require_tokenizer(options.tokenizer);
  ThreadPool pool(preprocess.workers > 0 ? static_cast<int>(preprocess.workers) : usable_cores());
  const std::vector<data::PreprocessedDataset> datasets =
      data::preprocess({.corpus = {.inputs = {preprocess.input.begin(), preprocess.input.end()}},
                        .json_keys = preprocess.json_keys,
                        .output_prefix = preprocess.output_prefix,
                        .append_eod = preprocess.append_eod},
                       tokenizer, pool);
  for (const data::PreprocessedDataset& dataset : datasets) say(summary(dataset));
  if (!preprocess.append_eod) {
    say("note: no end-of-document tokens (--append-eod), so documents run into each other");
  }
  say(format("next: {}", next_command(datasets[0], options.tokenizer)));
  return 0;
}

}  // namespace

Command preprocess_command() {
  return make_command<Options>(
      {.name = "preprocess",
       .summary = "turn text or JSONL into token files for training",
       .about =
           "Reads text and writes it as tokens, in the files that Megatron-LM's preprocess_data.py "
           "writes: PREFIX_KEY_document.bin and .idx.\n"
           "A file whose name ends in .jsonl, .ndjson or .json has one JSON object a line, and "
           "each "
           "object is a document: its text is the string under the key of --json-keys, or an array "
           "of strings, kept as sequences of their own. Every other file is plain text and one "
           "document. A folder stands for all files in it and in the folders below, in the order "
           "of their paths.\n"
           "Documents keep their order. Either all files are written or none; what was there "
           "before is replaced only at the end.",
       .examples =
           "trireme preprocess --input corpus.jsonl --output-prefix my-gpt2 --vocab-file "
           "vocab.json --merge-file merges.txt --append-eod\n"
           "trireme preprocess --input books/ notes.txt --output-prefix data/books --vocab-file "
           "vocab.json --merge-file merges.txt --append-eod --workers 8\n"
           "trireme preprocess --input papers.jsonl --json-keys title abstract --output-prefix "
           "papers --tokenizer-model llama3/tokenizer.json --append-eod"},
      declare, run);
}

}  // namespace trireme::app
