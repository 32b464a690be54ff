#include "config/groups/parallel.h"

namespace trireme::config {

const Group& ParallelOptions::group() {
  using O = ParallelOptions;
  static const Group table = {
      "Parallelism",
      "how the model is cut over ranks",
      {
          field(&O::tensor_model_parallel_size, {.name = "tensor-model-parallel-size",
                                                 .help = "ranks that share each layer, t",
                                                 .range = between(1, 4096)}),
          field(&O::pipeline_model_parallel_size, {.name = "pipeline-model-parallel-size",
                                                   .help = "pipeline stages, p",
                                                   .range = between(1, 4096)}),
      }};
  return table;
}

}  // namespace trireme::config
