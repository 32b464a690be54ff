#include "config/groups/tokenizer_encode.h"

namespace trireme::config {

const Group& TokenizerEncodeOptions::group() {
  using O = TokenizerEncodeOptions;
  static const Group table = {
      "Encoding",
      "from text to token ids",
      {
          field(&O::json_keys,
                {.name = "json-keys", .help = "keys of the JSON objects whose text is taken"}),
          field(&O::parse_special_tokens,
                {.name = "parse-special-tokens",
                 .help = "the text of a special token becomes that token; otherwise it is text "
                         "like any other"}),
          field(&O::count, {.name = "count",
                            .help = "print documents, bytes and tokens of each file instead of "
                                    "the ids"}),
      }};
  return table;
}

}  // namespace trireme::config
