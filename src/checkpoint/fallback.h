#pragma once
#include <string>
#include <vector>

#include "checkpoint/reader.h"

namespace trireme::checkpoint {

/// A whole checkpoint, and what was wrong with those that would have come before it.
struct NewestWhole {
  CheckpointReader reader;
  std::vector<std::string> passed_over = {};  ///< one message each: file and tensor named
};

/// The latest checkpoint of a folder, or where that is missing or damaged the newest whole one
/// before it, and failing that the newest whole one of all. Whole is what has every byte right: all
/// of it is read. Throws, with what is wrong with each, where none is.
[[nodiscard]] NewestWhole open_newest_whole(const Path& root);

}  // namespace trireme::checkpoint
