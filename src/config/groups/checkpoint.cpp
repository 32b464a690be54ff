#include "config/groups/checkpoint.h"

namespace trireme::config {

const Group& CheckpointOptions::group() {
  using O = CheckpointOptions;
  static const Group table = {
      "Checkpoint",
      "where a run is saved and continued from",
      {
          field(
              &O::save,
              {.name = "save", .help = "folder for checkpoints", .otherwise = "nothing is saved"}),
          field(&O::load, {.name = "load",
                           .help = "folder of checkpoints to continue from",
                           .otherwise = "a new model"}),
          field(&O::ckpt_step, {.name = "ckpt-step",
                                .help = "iteration of the checkpoint in --load to take",
                                .unit = "iterations",
                                .otherwise = "the newest",
                                .range = at_least(0),
                                .saved = false}),
          field(&O::save_interval,
                {.name = "save-interval",
                 .aliases = {"persistent-save-interval"},
                 .help = "save every so many iterations; the end of the run is saved in any case",
                 .unit = "iterations",
                 .otherwise = "only at the end",
                 .range = at_least(1)}),
      }};
  return table;
}

std::optional<Conflict> CheckpointOptions::validate() const {
  if (ckpt_step && !load) {
    return Conflict{.names = {"ckpt-step"},
                    .what = "ckpt-step without load",
                    .rule = "it chooses among the checkpoints of load",
                    .remedy = "give a folder with load, or leave ckpt-step out"};
  }
  if (!save_interval || save) return std::nullopt;
  return Conflict{.names = {"save-interval"},
                  .what = "save-interval without save",
                  .rule = "an interval has no effect when nothing is saved",
                  .remedy = "give a folder with save, or leave save-interval out"};
}

}  // namespace trireme::config
