#include "config/groups/generate.h"

#include "core/format.h"

namespace trireme::config {

const Group& GenerateOptions::group() {
  using O = GenerateOptions;
  static const Group table = {
      "Generation",
      "sampling text from a trained model",
      {
          field(&O::load, {.name = "load", .help = "folder of checkpoints", .required = true}),
          field(&O::ckpt_step, {.name = "ckpt-step",
                                .help = "iteration of the checkpoint in --load to take",
                                .unit = "iterations",
                                .otherwise = "the newest",
                                .range = at_least(0)}),
          field(&O::prompt, {.name = "prompt",
                             .help = "text to continue; an empty one is the start of a document",
                             .otherwise = "the start of a document"}),
          field(&O::prompts,
                {.name = "prompts",
                 .aliases = {"prompt-file", "sample-input-file"},
                 .help = "file of prompts, one a line; in a .jsonl file each line is {\"prompt\": "
                         "...} or {\"text\": ...}; - is standard input, read to its end",
                 .otherwise = "--prompt"}),
          field(&O::prompts_format, {.name = "prompts-format",
                                     .help = "what --prompts is; auto goes by the file's name",
                                     .words = {"auto", "text", "jsonl"}}),
          field(&O::num_tokens, {.name = "num-tokens",
                                 .aliases = {"out-seq-length", "num-tokens-to-generate"},
                                 .help = "length of an answer, without the prompt, at most",
                                 .unit = "tokens",
                                 .range = at_least(1)}),
          field(&O::num_samples, {.name = "num-samples",
                                  .help = "how many answers to each prompt",
                                  .range = at_least(1)}),
          field(&O::batch_size, {.name = "batch-size",
                                 .aliases = {"max-batch-size"},
                                 .help = "answers that grow side by side; changes none of them",
                                 .range = between(1, 65536)}),
          field(&O::greedy,
                {.name = "greedy", .help = "always take the likeliest token, as --temperature 0"}),
          field(&O::temperature, {.name = "temperature",
                                  .help = "divides the logits; 0 takes the likeliest token",
                                  .range = at_least(0)}),
          field(&O::top_k, {.name = "top-k",
                            .help = "sample among the k likeliest tokens; 0 for all",
                            .unit = "tokens",
                            .range = at_least(0)}),
          field(&O::top_p, {.name = "top-p",
                            .help = "sample among the likeliest tokens (of the top-k) that have "
                                    "this probability together; 0 and 1 for all",
                            .unit = "probability",
                            .range = between(0, 1)}),
          field(&O::seed, {.name = "seed",
                           .help = "seed of the samples; the same one gives the same samples again",
                           .range = between(0, 4294967295)}),
          field(&O::stop, {.name = "stop",
                           .help = "texts that end an answer and are left out of it; in a shell "
                                   "$'\\n' is a line feed",
                           .otherwise = "none"}),
          field(&O::stop_token, {.name = "stop-token",
                                 .help = "token ids that end an answer, besides the tokenizer's "
                                         "end of document",
                                 .otherwise = "none"}),
          field(&O::ignore_eod,
                {.name = "ignore-eod", .help = "go on behind the tokenizer's end of document"}),
          field(&O::json,
                {.name = "json", .help = "print a JSON object for each answer, a line each"}),
          field(&O::output, {.name = "output",
                             .aliases = {"genfile", "sample-output-file"},
                             .help = "file for the answers",
                             .otherwise = "standard output"}),
      }};
  return table;
}

std::optional<Conflict> GenerateOptions::validate() const {
  const char* const limit = top_k > 0 ? "top-k" : "top-p";
  const bool limited = top_k > 0 || top_p > 0;
  if (greedy && (limited || (temperature != 1 && temperature != 0))) {
    const char* const other = limited ? limit : "temperature";
    return Conflict{.names = {other, "greedy"},
                    .what = format("{} with greedy", other),
                    .rule = "greedy always takes the likeliest token",
                    .remedy = "leave one of them out"};
  }
  if (temperature == 0 && limited) {
    return Conflict{.names = {limit, "temperature"},
                    .what = format("{} with temperature 0", limit),
                    .rule = "temperature 0 always takes the likeliest token",
                    .remedy = format("leave {} out, or use a temperature above 0", limit)};
  }
  if (prompt && prompts) {
    return Conflict{.names = {"prompt", "prompts"},
                    .what = "a prompt and a file of prompts",
                    .rule = "prompts come from one place",
                    .remedy = "write the prompt into the file, or leave one of them out"};
  }
  if (prompts_format != PromptsFormat::automatic && !prompts) {
    return Conflict{.names = {"prompts-format"},
                    .what = "the format of prompts without a file of them",
                    .rule = "it says how --prompts is read",
                    .remedy = "leave it out, or name the file with --prompts"};
  }
  return std::nullopt;
}

}  // namespace trireme::config
