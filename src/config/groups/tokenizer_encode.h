#pragma once
#include "config/group.h"

namespace trireme::config {

/// What only encoding has.
struct TokenizerEncodeOptions {
  Words json_keys = {"text"};
  bool parse_special_tokens = false;
  bool count = false;  ///< numbers instead of the ids

  bool operator==(const TokenizerEncodeOptions&) const = default;
  static const Group& group();
};

}  // namespace trireme::config
