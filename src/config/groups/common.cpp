#include "config/groups/common.h"

namespace trireme::config {

const Group& CommonOptions::group() {
  using O = CommonOptions;
  static const Group table = {
      "Common",
      "what every subcommand takes",
      {
          field(&O::config, {.name = "config",
                             .help = "run file in TOML with the same names; options of the command "
                                     "line win over it",
                             .otherwise = "none",
                             .saved = false}),
          field(&O::help, {.name = "help", .help = "print this text", .saved = false}),
      }};
  return table;
}

}  // namespace trireme::config
