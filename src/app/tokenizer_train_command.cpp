// trireme tokenizer train: text to tokenizer.json, vocab.json and merges.txt.

#include <optional>

#include "app/commands.h"
#include "app/tokenizer_input.h"
#include "config/groups/tokenizer_train.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/thread_pool.h"
#include "data/json_texts.h"
#include "text/pattern.h"
#include "text/split.h"
#include "text/trainer.h"

namespace trireme::app {
namespace {

using Options = config::TokenizerTrainOptions;

void declare(Options& options, config::OptionSet& set) {
  set.add(options);
}

/// The corpus, text by text, as the trainer wants it.
class CorpusTexts {
 public:
  CorpusTexts(data::CorpusReader& reader, const config::Words& json_keys)
      : reader_(reader), json_(json_keys) {}

  bool next(std::string& text) {
    constexpr size_t kBatchBytes = size_t{8} << 20;
    if (at_ == batch_.pieces.size()) {
      if (!reader_.next(batch_, kBatchBytes)) return false;
      at_ = 0;
    }
    const data::CorpusPiece& piece = batch_.pieces[at_++];
    const std::string_view bytes = batch_.text(piece);
    if (!piece.is_json) {
      text.assign(bytes);
      return true;
    }
    text.clear();
    for (const auto& texts : json_.parse(bytes, reader_.files()[piece.file], piece.line)) {
      for (const std::string_view one : texts) {
        if (!text.empty()) text += '\n';
        text += one;
      }
    }
    return true;
  }

 private:
  data::CorpusReader& reader_;
  data::JsonTexts json_;
  data::CorpusBatch batch_;
  size_t at_ = 0;
};

/// One bar for each phase of the training.
class Bars {
 public:
  explicit Bars(uint64_t corpus_bytes) : bar_(std::in_place, "count", "bytes", corpus_bytes) {}

  void show(const text::TrainProgress& progress) {
    const bool merging = progress.phase == text::TrainProgress::Phase::merging;
    if (merging && !merging_) {
      bar_->finish();
      bar_.emplace("merge", "merges", progress.total);
      merging_ = true;
    }
    bar_->update(progress.done);
  }
  void finish() { bar_->finish(); }

 private:
  std::optional<Progress> bar_;
  bool merging_ = false;
};

std::string split_pattern(const std::string& option) {
  const std::string_view named = text::named_pattern(option);
  if (!named.empty()) return std::string(named);
  try {
    const text::Splitter compiles(option);
  } catch (const Error& error) {
    Trouble trouble = error.trouble();
    trouble.where = "--split-pattern";
    fail_usage(trouble);
  }
  return option;
}

int run(const Options& options, const config::OptionSet& /*set*/) {
  const std::string pattern = split_pattern(options.split_pattern);
  data::CorpusReader reader(
      {.inputs = input_paths(options.input), .cuts_at_lines = text::cuts_at_lines(pattern)});
  check_json_keys(options.json_keys, reader);
  make_folder(options.output);  // told now if it cannot be, not after the work
  CorpusTexts texts(reader, options.json_keys);
  Bars bars(reader.total_bytes());
  ThreadPool pool(usable_cores());
  const text::Tokenizer tokenizer = text::train(
      {.vocab_size = static_cast<int32_t>(options.vocab_size),
       .min_frequency = options.min_frequency,
       .split_pattern = pattern,
       .special_tokens = options.special_tokens},
      [&](std::string& text) { return texts.next(text); }, pool,
      [&](const text::TrainProgress& progress) { bars.show(progress); });
  bars.finish();
  tokenizer.save(options.output);

  const text::Vocabulary& vocabulary = tokenizer.vocabulary();
  say(format("{}: {} tokens = 256 bytes + {} merges + {} special, from {} of text",
             options.output.string(), tokenizer.vocab_size(),
             tokenizer.vocab_size() - 256 - static_cast<int32_t>(vocabulary.special.size()),
             vocabulary.special.size(), bytes_text(static_cast<double>(reader.bytes_read()))));
  if (tokenizer.vocab_size() < options.vocab_size) {
    warn(
        format("{} tokens were asked for, but no other pair occurs {} times; more text would give "
               "more",
               options.vocab_size, options.min_frequency));
  }
  return 0;
}

}  // namespace

Command tokenizer_train_command() {
  return make_command<Options>(
      {.name = "tokenizer train",
       .summary = "make a tokenizer from text",
       .about =
           "Learns a byte-level BPE vocabulary from text, as GPT-2 and Llama 3 have one. Writes "
           "tokenizer.json, which Hugging Face's tokenizers read too, and, with GPT-2's split "
           "pattern, the same as vocab.json and merges.txt. The same text gives the same files, "
           "whatever the cores.\n"
           "A file whose name ends in .jsonl, .ndjson or .json has one JSON object a line, whose "
           "text is taken from the keys of --json-keys. Every other file is plain text. A folder "
           "stands for all files in it and in the folders below.",
       .examples =
           "trireme tokenizer train --input books/ notes.txt --vocab-size 8192 --output tokenizer\n"
           "trireme tokenizer train corpus.jsonl --vocab-size 32768 --output tokenizer\n"
           "trireme tokenizer train books/ --vocab-size 32768 --split-pattern llama3 "
           "--special-tokens '<|begin_of_text|>' '<|end_of_text|>' --output tokenizer\n"
           "zcat corpus.gz | trireme tokenizer train - --vocab-size 4096 --output tokenizer "
           "--special-tokens '<|endoftext|>' '<|user|>'"},
      declare, run);
}

}  // namespace trireme::app
