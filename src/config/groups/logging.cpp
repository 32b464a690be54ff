#include "config/groups/logging.h"

namespace trireme::config {

const Group& LoggingOptions::group() {
  using O = LoggingOptions;
  static const Group table = {
      "Logging and validation",
      "what is reported, and how often",
      {
          field(&O::log_interval, {.name = "log-interval",
                                   .help = "write a log line every so many iterations",
                                   .unit = "iterations",
                                   .range = at_least(1)}),
          field(&O::eval_interval, {.name = "eval-interval",
                                    .help = "validate every so many iterations",
                                    .unit = "iterations",
                                    .range = at_least(1)}),
          field(&O::eval_iters, {.name = "eval-iters",
                                 .help = "length of a validation; 0 for no validation",
                                 .unit = "global batches",
                                 .range = at_least(0)}),
          field(&O::metrics_file,
                {.name = "metrics-file",
                 .help = "file that gets one line of JSON per step and validation",
                 .otherwise = "none"}),
          field(&O::loss_curve_file, {.name = "loss-curve-file",
                                      .help = "SVG picture of the losses, written at the end",
                                      .otherwise = "none"}),
          field(&O::tensorboard_dir, {.name = "tensorboard-dir",
                                      .help = "folder that gets an event file for TensorBoard",
                                      .otherwise = "none"}),
          field(&O::tensorboard_log_interval, {.name = "tensorboard-log-interval",
                                               .help = "write events every so many iterations",
                                               .unit = "iterations",
                                               .range = at_least(1)}),
          field(&O::progress, {.name = "progress",
                               .help = "display of a running step: auto is live on a terminal",
                               .words = {"auto", "none"}}),
      }};
  return table;
}

}  // namespace trireme::config
