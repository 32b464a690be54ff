#include "config/groups/debug.h"

namespace trireme::config {

const Group& DebugOptions::group() {
  using O = DebugOptions;
  static const Group table = {
      "Looking inside",
      "what helps to find a mistake",
      {
          field(&O::overfit_batch,
                {.name = "overfit-batch",
                 .help = "train on the first global batch again and again: the loss of a sound "
                         "model goes to 0"}),
          field(&O::dump, {.name = "dump",
                           .help = "folder for every value of the first steps, as safetensors: "
                                   "activations and their gradients by action, weights, gradients",
                           .otherwise = "none",
                           .saved = false}),
          field(&O::trace, {.name = "trace",
                            .help = "file for a Chrome trace of the first steps of all ranks, by "
                                    "action, op, exchange and wait; "
                                    "chrome://tracing and Perfetto show it",
                            .otherwise = "none",
                            .saved = false}),
          field(&O::inspect_iters, {.name = "inspect-iters",
                                    .help = "steps that --dump and --trace see",
                                    .unit = "iterations",
                                    .range = at_least(1),
                                    .saved = false}),
      }};
  return table;
}

std::optional<Conflict> DebugOptions::validate() const {
  if (inspect_iters == 1 || dump || trace) return std::nullopt;
  return Conflict{.names = {"inspect-iters"},
                  .what = "inspect-iters without dump or trace",
                  .rule = "it says how many steps they see",
                  .remedy = "give one of them, or leave inspect-iters out"};
}

}  // namespace trireme::config
