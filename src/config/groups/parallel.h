#pragma once
#include <cstdint>

#include "config/group.h"

namespace trireme::config {

/// The cut of the model over ranks. Which values are possible is for the subcommand to say.
struct ParallelOptions {
  int64_t tensor_model_parallel_size = 1;    ///< t
  int64_t pipeline_model_parallel_size = 1;  ///< p

  bool operator==(const ParallelOptions&) const = default;
  static const Group& group();
};

}  // namespace trireme::config
