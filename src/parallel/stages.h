#pragma once
#include <vector>

#include "core/ids.h"
#include "parallel/topology.h"

namespace trireme::parallel {

/// What one model chunk holds: a run of layers, the embedding on the first virtual stage, head and
/// loss on the last.
struct Chunk {
  ChunkId chunk;
  StageId stage;  ///< virtual stage: chunk p + pipeline rank
  int first_layer = 0;
  int layers = 0;
  bool embedding = false;
  bool head = false;
  bool operator==(const Chunk&) const = default;
};

/// The chunks of one pipeline rank: equal runs of layers over p v virtual stages, stage c p + r on
/// rank r (SC'21 section 2.2.2). Throws unless the layers divide by p v, naming the nearest counts
/// that do.
[[nodiscard]] std::vector<Chunk> equal_chunks(int layers, int pipeline_size, int chunks_per_rank,
                                              int pipeline_rank);

}  // namespace trireme::parallel
