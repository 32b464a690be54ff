#include "config/groups/data.h"

namespace trireme::config {

const Group& DataOptions::group() {
  using O = DataOptions;
  static const Group table = {
      "Data",
      "the token files that are trained on",
      {
          field(&O::data_path,
                {.name = "data-path",
                 .help = "prefix of a .bin and .idx pair; or several; or weights and prefixes in "
                         "turn, as in 0.3 A 0.7 B",
                 .otherwise = "none"}),
          field(&O::split, {.name = "split",
                            .help = "weights of the training, validation and test part of each "
                                    "file"}),
      }};
  return table;
}

}  // namespace trireme::config
