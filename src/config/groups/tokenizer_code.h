#pragma once
#include "config/group.h"

namespace trireme::config {

/// Encoding and decoding of files on the command line.
struct TokenizerCodeOptions {
  Words input = {};    ///< empty or "-": standard input
  bool lines = false;  ///< every line of plain text is a document

  bool operator==(const TokenizerCodeOptions&) const = default;
  static const Group& group();
};

}  // namespace trireme::config
