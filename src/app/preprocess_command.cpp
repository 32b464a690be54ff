// trireme preprocess: text to the token files that training reads.

#include "app/commands.h"
#include "app/inspect_dataset.h"
#include "app/tokenizer_files.h"
#include "app/tokenizer_input.h"
#include "config/groups/data.h"
#include "config/groups/preprocess.h"
#include "config/groups/tokenizer.h"
#include "core/format.h"
#include "core/log.h"
#include "data/merge.h"
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
  set.replace(config::megatron::preprocess_data());
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

data::CorpusFormat corpus_format(config::InputFormat format) {
  switch (format) {
    case config::InputFormat::text:
      return data::CorpusFormat::text;
    case config::InputFormat::jsonl:
      return data::CorpusFormat::jsonl;
    case config::InputFormat::automatic:
      break;
  }
  return data::CorpusFormat::automatic;
}

void preprocess(const Options& options, ThreadPool& pool) {
  const config::PreprocessOptions& preprocess = options.preprocess;
  const text::Tokenizer tokenizer = require_tokenizer(options.tokenizer);
  const data::Preprocessed done = data::preprocess(
      {.corpus = {.inputs = input_paths(preprocess.input),
                  .format = corpus_format(preprocess.input_format),
                  .split_documents_on = *preprocess.split_text()},
       .json_keys = preprocess.json_keys,
       .output_prefix = *preprocess.output_prefix,
       .append_eod = preprocess.append_eod,
       .on_bad_line = preprocess.on_bad_line == config::BadLine::skip ? data::OnBadLine::skip
                                                                      : data::OnBadLine::fail,
       .log_interval = preprocess.log_interval},
      tokenizer, pool);
  if (done.skipped_lines > 0) {
    warn(format("{} lines were skipped, as --on-bad-line says; the first:", done.skipped_lines));
    for (const std::string& line : done.first_skipped) warn("  " + line);
  }
  for (const data::PreprocessedDataset& dataset : done.datasets) say(summary(dataset));
  if (!preprocess.append_eod) {
    say("note: no end-of-document tokens (--append-eod), so documents run into each other");
  }
  say(format("next: {}", next_command(done.datasets[0], options.tokenizer)));
}

void merge(const config::PreprocessOptions& options) {
  const std::vector<Path> prefixes =
      data::dataset_prefixes({options.merge.begin(), options.merge.end()});
  const data::MergedDataset merged = data::merge_datasets(prefixes, *options.output_prefix);
  say(format("{}: {} datasets joined, {} documents, {} sequences, {} tokens as {}",
             options.output_prefix->string(), prefixes.size(), merged.documents, merged.sequences,
             merged.tokens, name_of(merged.token_type)));
}

int run(const Options& options, const config::OptionSet& /*set*/) {
  const config::PreprocessOptions& preprocess_options = options.preprocess;
  if (!preprocess_options.merge.empty()) {
    merge(preprocess_options);
    return 0;
  }
  ThreadPool pool(preprocess_options.workers > 0 ? static_cast<int>(preprocess_options.workers)
                                                 : usable_cores());
  if (preprocess_options.inspect) {
    inspect_dataset(*preprocess_options.inspect, load_tokenizer(options.tokenizer),
                    preprocess_options.json, pool);
  } else {
    preprocess(options, pool);
  }
  return 0;
}

}  // namespace

Command preprocess_command() {
  return make_command<Options>(
      {.name = "preprocess",
       .summary = "turn text or JSONL into token files for training; join them, look at them",
       .about =
           "Reads text and writes it as tokens, in the files that Megatron-LM's preprocess_data.py "
           "writes: PREFIX_KEY_document.bin and .idx.\n"
           "A file whose name ends in .jsonl, .ndjson or .json (--input-format says otherwise) has "
           "one JSON object a line, and each object is a document: its text is the string under "
           "the key of --json-keys, or an array of strings, kept as sequences of their own. Every "
           "other file is plain text and one document, or as many as --split-documents-on cuts it "
           "into. Behind these names may stand .gz or .zst. A folder stands for all files in it "
           "and in the folders below, in the order of their paths.\n"
           "Documents keep their order, and memory stays bounded whatever the size. Either all "
           "files are written or none; what was there before is replaced only at the end.\n"
           "--merge joins datasets that are there already, as merge_datasets.py does. --inspect "
           "prints what is in one: counts, lengths, and with the tokenizer its first texts.",
       .examples =
           "trireme preprocess --input corpus.jsonl --output-prefix my-gpt2 --vocab-file "
           "vocab.json --merge-file merges.txt --append-eod\n"
           "trireme preprocess --input crawl/*.jsonl.zst --on-bad-line skip --output-prefix "
           "data/crawl --vocab-file vocab.json --merge-file merges.txt --append-eod --workers 8\n"
           "trireme preprocess --input books/ notes.txt --split-documents-on '\\n\\n\\n' "
           "--output-prefix data/books --vocab-file vocab.json --merge-file merges.txt "
           "--append-eod\n"
           "zcat papers.gz | trireme preprocess --input - --input-format jsonl --json-keys title "
           "abstract --output-prefix papers --tokenizer-model llama3/tokenizer.json "
           "--append-eod\n"
           "trireme preprocess --merge data/crawl_text_document data/books_text_document "
           "--output-prefix data/all\n"
           "trireme preprocess --inspect data/all --vocab-file vocab.json --merge-file merges.txt"},
      declare, run);
}

}  // namespace trireme::app
