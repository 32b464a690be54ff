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
          field(&O::save_interval, {.name = "save-interval",
                                    .help = "between two checkpoints; one at the end in any case",
                                    .unit = "iterations",
                                    .otherwise = "only at the end",
                                    .range = at_least(1)}),
      }};
  return table;
}

std::optional<Conflict> CheckpointOptions::validate() const {
  if (!save_interval || save) return std::nullopt;
  return Conflict{.names = {"save-interval"},
                  .what = "save-interval without save",
                  .rule = "an interval has no effect when nothing is saved",
                  .remedy = "give a folder with save, or leave save-interval out"};
}

}  // namespace trireme::config
