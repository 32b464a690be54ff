#include "config/groups/tokenizer_code.h"

namespace trireme::config {

const Group& TokenizerCodeOptions::group() {
  using O = TokenizerCodeOptions;
  static const Group table = {
      "Encoding and decoding",
      "files through a tokenizer to standard output",
      {
          field(&O::input, {.name = "input",
                            .help = "files and folders to read; - is standard input",
                            .otherwise = "standard input",
                            .positional = true}),
          field(&O::lines, {.name = "lines",
                            .help = "a document is a line of plain text, "
                                    "without its line feed"}),
      }};
  return table;
}

}  // namespace trireme::config
