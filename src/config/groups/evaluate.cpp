#include "config/groups/evaluate.h"

namespace trireme::config {

const Group& EvaluateOptions::group() {
  using O = EvaluateOptions;
  static const Group table = {
      "Evaluation",
      "what a trained model is measured on",
      {
          field(&O::load, {.name = "load", .help = "folder of checkpoints", .required = true}),
          field(&O::ckpt_step, {.name = "ckpt-step",
                                .help = "iteration of the checkpoint in --load to take",
                                .unit = "iterations",
                                .otherwise = "the newest",
                                .range = at_least(0)}),
          field(&O::data_path,
                {.name = "data-path",
                 .help = "token files: prefix of a .bin and .idx pair, or several, or weights and "
                         "prefixes in turn; read whole, unless split or part is given",
                 .otherwise = "with part the run's own"}),
          field(&O::split, {.name = "split",
                            .help = "weights of the training, validation and test part of each "
                                    "dataset of data-path",
                            .otherwise = "the run's"}),
          field(&O::part, {.name = "part",
                           .help = "the part of the token files that is read",
                           .otherwise = "validation where split is given",
                           .words = {"train", "validation", "test"}}),
          field(&O::text, {.name = "text",
                           .help = "file with a text, as it is; every token of it but the first is "
                                   "predicted once",
                           .otherwise = "none"}),
          field(&O::stride, {.name = "stride",
                             .aliases = {"overlapping-eval"},
                             .help = "distance between the windows that text is read in; the "
                                     "smaller it is, the more context a token has, and the longer "
                                     "it takes",
                             .unit = "tokens",
                             .otherwise = "seq-length",
                             .range = at_least(1)}),
          field(&O::lambada, {.name = "lambada",
                              .help = "JSONL with a \"text\" on each line, whose last word is to "
                                      "be predicted",
                              .otherwise = "none"}),
          field(&O::hellaswag, {.name = "hellaswag",
                                .help = "JSONL with a context, endings and a label on each line; "
                                        "the ending is to be chosen",
                                .otherwise = "none"}),
          field(&O::hellaswag_text,
                {.name = "hellaswag-text",
                 .help = "harness: with the activity label, and cleaned, as in EleutherAI's "
                         "lm-evaluation-harness; plain: as it is, as in llm.c",
                 .words = {"harness", "plain"}}),
          field(&O::limit, {.name = "limit",
                            .help = "at most so many samples of the token files, which come in a "
                                    "shuffled order, and examples of each JSONL",
                            .otherwise = "all",
                            .range = at_least(1)}),
          field(&O::seq_length, {.name = "seq-length",
                                 .help = "length of samples and of the windows of a text, and the "
                                         "most that is read of an example",
                                 .unit = "tokens",
                                 .otherwise = "the run's",
                                 .range = at_least(1)}),
          field(&O::micro_batch_size,
                {.name = "micro-batch-size",
                 .help = "sequences at a time; changes memory and speed, not the results",
                 .unit = "sequences",
                 .range = at_least(1)}),
          field(&O::json, {.name = "json", .help = "the results as JSON", .saved = false}),
      }};
  return table;
}

std::optional<Conflict> EvaluateOptions::validate() const {
  if (!reads_dataset() && !reads_text()) {
    return Conflict{.names = {"text"},
                    .what = "nothing to evaluate on",
                    .rule = "a model is measured on token files, a text or examples",
                    .remedy = "give data-path, part, text, lambada or hellaswag"};
  }
  if (split && data_path.empty()) {
    return Conflict{.names = {"split"},
                    .what = "split without data-path",
                    .rule = "split cuts the datasets of data-path",
                    .remedy = "give data-path too, or leave it out and take a part of the run's"};
  }
  if (stride && !text) {
    return Conflict{.names = {"stride"},
                    .what = "stride without text",
                    .rule = "stride is the distance between the windows of a text",
                    .remedy = "give text, or leave it out"};
  }
  if (hellaswag_text != HellaSwagText::harness && !hellaswag) {
    return Conflict{.names = {"hellaswag-text"},
                    .what = "hellaswag-text without hellaswag",
                    .rule = "it says how the examples become text",
                    .remedy = "give hellaswag, or leave it out"};
  }
  if (limit && !reads_dataset() && !lambada && !hellaswag) {
    return Conflict{.names = {"limit"},
                    .what = "limit has no effect on a text",
                    .rule = "it counts samples of token files and examples of a JSONL",
                    .remedy = "leave it out; a part of the text is a file of its own"};
  }
  return std::nullopt;
}

}  // namespace trireme::config
