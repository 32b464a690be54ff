// Datasets and tokenizers; tools/preprocess_data.py.

#include "config/megatron/sections.h"

namespace trireme::config::megatron {
namespace {

constexpr const char* kBpe = "the tokenizer is a byte-level BPE, as GPT-2's or Llama 3's";
constexpr const char* kBpeFiles = "give --tokenizer-model, or --vocab-file and --merge-file";

// Both scripts have these.
void add_tokenizer(Section& s) {
  same(s, {"vocab-file", "merge-file", "tokenizer-model"});
  always_at(s, "tokenizer-type", {"GPT2BPETokenizer", "HuggingFaceTokenizer"}, kBpe,
            "use GPT2BPETokenizer with --vocab-file and --merge-file, or HuggingFaceTokenizer with "
            "--tokenizer-model");
  refused(s, Takes::one, {"tokenizer-metadata", "tiktoken-pattern", "tiktoken-num-special-tokens"},
          kBpe, kBpeFiles);
  refused(s, Takes::several, {"tiktoken-special-tokens"}, kBpe, kBpeFiles);
  always(s, {"legacy-tokenizer"}, kBpe);
  refused(s, Takes::nothing, {"trust-remote-code"}, "nothing is fetched or run", kLeaveOut);
  always_at(s, "vocab-extra-ids", {"0"}, "the vocabulary is the tokenizer's");
  refused(s, Takes::one, {"padded-vocab-size"},
          "rows of padding take no part in anything, so their number is no property of the model",
          kLeaveOut);
}

}  // namespace

Section data_section() {
  Section s = {.title = "Data"};
  same(s, {"data-path", "train-data-path", "valid-data-path", "test-data-path", "data-args-path",
           "split", "data-cache-path", "mock-data", "num-workers", "reset-position-ids",
           "reset-attention-mask", "eod-mask-loss"});
  refused(s, Takes::one, {"per-split-data-args-path"}, "only one blend is read from a file",
          "use --train-data-path, --valid-data-path and --test-data-path");
  always_any(s, {"num-dataset-builder-threads"},
             "the orders of samples are made by the threads of --threads-per-rank");
  always_at(s, "dataloader-type", {"single"},
            "samples come in the order of Megatron-LM's GPT indices, each once");
  always_at(s, "data-impl", {"mmap", "infer"}, "datasets are .bin and .idx files, mapped",
            "make the dataset anew with trireme preprocess");
  always(s, {"mmap-warmup"}, "datasets are .bin and .idx files, mapped");
  refused(s, Takes::nothing, {"no-mmap-bin-files"}, "datasets are .bin and .idx files, mapped",
          kLeaveOut);
  always(s, {"no-create-attention-mask-in-dataloader", "create-attention-mask-in-dataloader"},
         "the causal mask is part of attention and never stored");
  always_at(s, "mid-level-dataset-surplus", {"0.005"}, "datasets of a blend have 0.5% to spare");
  refused(s, Takes::one, {"object-storage-cache-path"}, "datasets are files", kLeaveOut);
  refused(s, Takes::nothing, {"allow-ambiguous-pad-tokens"}, "no token stands for padding",
          kLeaveOut);
  refused(s, Takes::one, {"sample-rate", "mask-prob", "short-seq-prob"},
          "a GPT is trained on whole sequences", kLeaveOut);
  refused(s, Takes::nothing, {"sft"}, "a GPT is trained on whole sequences", kLeaveOut);
  refused(s, Takes::one, {"sft-tokenizer-prompt-format"}, "a GPT is trained on whole sequences",
          kLeaveOut);
  return s;
}

Section tokenizer_section() {
  Section s = {.title = "Tokenizer"};
  same(s, {"vocab-size"});
  add_tokenizer(s);
  return s;
}

const Script& preprocess_data() {
  static const Script script = [] {
    constexpr const char* whole = "a document is kept as one sequence";
    constexpr const char* no_search = "workers are threads of one pass over the text";
    Section text = {.title = "Text and output"};
    same(text, {"input", "json-keys", "output-prefix", "append-eod"});
    refused(text, Takes::nothing, {"split-sentences", "keep-newlines"}, whole, kLeaveOut);
    refused(text, Takes::one, {"lang"}, whole, kLeaveOut);
    always_at(text, "dataset-impl", {"mmap"}, "datasets are .bin and .idx files for mapping");
    Section tokenizer = {.title = "Tokenizer"};
    add_tokenizer(tokenizer);
    refused(tokenizer, Takes::one, {"vocab"}, "later releases call it --vocab-file",
            "use --vocab-file");
    refused(tokenizer, Takes::one, {"vocab-size"}, "the vocabulary is the tokenizer's", kLeaveOut);
    Section work = {.title = "Work"};
    same(work, {"workers", "log-interval"});
    always_any(work, {"partitions"}, "the input is read once, in its order, whatever the workers");
    always(work, {"keep-sequential-samples"}, "documents keep their order");
    always_any(work, {"chunk-size"}, "work is cut by bytes");
    refused(work, Takes::nothing, {"find-optimal-num-workers"}, no_search,
            "leave it out; --workers 0 takes all cores");
    refused(work, Takes::several, {"workers-to-check"}, no_search, kLeaveOut);
    refused(work, Takes::one, {"max-documents", "performance-dir"}, no_search, kLeaveOut);
    return Script{"preprocess_data.py", {std::move(text), std::move(tokenizer), std::move(work)}};
  }();
  return script;
}

}  // namespace trireme::config::megatron
