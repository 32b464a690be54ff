#include "config/groups/preprocess.h"

namespace trireme::config {

const Group& PreprocessOptions::group() {
  using O = PreprocessOptions;
  static const Group table = {
      "Preprocessing",
      "from text to token files",
      {
          field(&O::input, {.name = "input",
                            .help = "text or JSONL files",
                            .required = true,
                            .positional = true}),
          field(&O::output_prefix,
                {.name = "output-prefix",
                 .help = "writes PREFIX_KEY_document.bin and .idx, KEY from json-keys",
                 .required = true}),
          field(&O::json_keys, {.name = "json-keys",
                                .help = "keys of the JSON objects whose text is taken, an output "
                                        "pair for each"}),
          field(&O::append_eod,
                {.name = "append-eod", .help = "end each document with the end-of-text token"}),
          field(&O::workers, {.name = "workers",
                              .help = "threads; 0: the cores that this process may use; changes "
                                      "no result",
                              .range = at_least(0)}),
      }};
  return table;
}

}  // namespace trireme::config
