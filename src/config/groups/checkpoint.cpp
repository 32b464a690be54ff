#include "config/groups/checkpoint.h"

#include "core/format.h"

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
          field(&O::exit_on_missing_checkpoint,
                {.name = "exit-on-missing-checkpoint",
                 .help = "end where --load has no checkpoint yet, rather than start anew, as is "
                         "otherwise done where --save names the same folder",
                 .saved = false}),
          field(&O::load_newest_whole,
                {.name = "load-newest-whole",
                 .help = "where the latest checkpoint in --load is damaged or missing, continue "
                         "from the newest one that is whole",
                 .saved = false}),
          field(&O::save_interval,
                {.name = "save-interval",
                 .aliases = {"persistent-save-interval"},
                 .help = "save every so many iterations; the end of the run is saved in any case",
                 .unit = "iterations",
                 .otherwise = "only at the end",
                 .range = at_least(1)}),
          field(&O::keep_last,
                {.name = "keep-last",
                 .help = "keep the newest so many checkpoints in --save and remove older ones, "
                         "after each save; while it saves there is one more",
                 .unit = "checkpoints",
                 .otherwise = "all; 1 with --save-retain-interval",
                 .range = between(1, 1e6)}),
          field(&O::save_retain_interval,
                {.name = "save-retain-interval",
                 .help = "keep the checkpoints at multiples of it, beside the newest",
                 .unit = "iterations",
                 .otherwise = "none",
                 .range = at_least(1)}),
      }};
  return table;
}

std::optional<Conflict> CheckpointOptions::validate() const {
  const auto needs = [](const std::string& name, const std::string& other, const char* rule) {
    return Conflict{.names = {name},
                    .what = name + " without " + other,
                    .rule = rule,
                    .remedy = format("give a folder with {}, or leave {} out", other, name)};
  };
  if (ckpt_step && !load)
    return needs("ckpt-step", "load", "it chooses among the checkpoints of load");
  if (exit_on_missing_checkpoint && !load)
    return needs("exit-on-missing-checkpoint", "load", "it says what load does");
  if (load_newest_whole && !load)
    return needs("load-newest-whole", "load", "it says what load does");
  if (load_newest_whole && ckpt_step) {
    return Conflict{.names = {"load-newest-whole", "ckpt-step"},
                    .what = "load-newest-whole and ckpt-step are both given",
                    .rule = "either names the checkpoint to take",
                    .remedy = "leave one of them out"};
  }
  if (save_interval && !save)
    return needs("save-interval", "save", "an interval has no effect when nothing is saved");
  if (keep_last && !save) return needs("keep-last", "save", "only what was saved can be kept");
  if (save_retain_interval && !save)
    return needs("save-retain-interval", "save", "only what was saved can be kept");
  if (save_interval && save_retain_interval && *save_retain_interval % *save_interval != 0) {
    return Conflict{
        .names = {"save-retain-interval", "save-interval"},
        .what = format("save-retain-interval {} is no multiple of save-interval {}",
                       *save_retain_interval, *save_interval),
        .rule = "only what was saved can be kept",
        .remedy = format("use {}", (*save_retain_interval / *save_interval + 1) * *save_interval)};
  }
  return std::nullopt;
}

}  // namespace trireme::config
