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
                             .help = "text to continue",
                             .otherwise = "the start of a document"}),
          field(&O::num_tokens, {.name = "num-tokens",
                                 .help = "length of a sample, without the prompt",
                                 .unit = "tokens",
                                 .range = at_least(1)}),
          field(&O::num_samples, {.name = "num-samples",
                                  .help = "how many samples of the prompt",
                                  .range = at_least(1)}),
          field(&O::temperature, {.name = "temperature",
                                  .help = "divides the logits; 0 takes the likeliest token",
                                  .range = at_least(0)}),
          field(&O::top_k, {.name = "top-k",
                            .help = "sample among the k likeliest tokens; 0 for all",
                            .unit = "tokens",
                            .range = at_least(0)}),
          field(&O::top_p, {.name = "top-p",
                            .help = "sample among the likeliest tokens that have this probability "
                                    "together; 0 for all",
                            .unit = "probability",
                            .range = between(0, 1)}),
          field(&O::seed, {.name = "seed",
                           .help = "seed of the samples; the same one gives the same samples again",
                           .range = between(0, 4294967295)}),
      }};
  return table;
}

std::optional<Conflict> GenerateOptions::validate() const {
  if (temperature > 0 || (top_k == 0 && top_p == 0)) return std::nullopt;
  const char* const limit = top_k > 0 ? "top-k" : "top-p";
  return Conflict{.names = {limit, "temperature"},
                  .what = format("{} with temperature 0", limit),
                  .rule = "temperature 0 always takes the likeliest token",
                  .remedy = format("leave {} out, or use a temperature above 0", limit)};
}

}  // namespace trireme::config
