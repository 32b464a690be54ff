#include "parallel/stages.h"

#include "core/error.h"
#include "core/format.h"

namespace trireme::parallel {

std::vector<Chunk> equal_chunks(int layers, int pipeline_size, int chunks_per_rank,
                                int pipeline_rank) {
  const int stages = pipeline_size * chunks_per_rank;
  if (layers < 1 || layers % stages != 0) {
    const int below = layers / stages * stages;
    fail_usage({.where = "pipeline stages",
                .what = format("{} layers over {} stages x {} chunks", layers, pipeline_size,
                               chunks_per_rank),
                .rule = "the number of layers is a multiple of p v",
                .remedy = below > 0 ? format("use {} or {} layers", below, below + stages)
                                    : format("use {} layers", stages)});
  }
  const int per_stage = layers / stages;
  std::vector<Chunk> chunks;
  for (int c = 0; c < chunks_per_rank; ++c) {
    const int stage = c * pipeline_size + pipeline_rank;
    chunks.push_back({.chunk = ChunkId{c},
                      .stage = StageId{stage},
                      .first_layer = stage * per_stage,
                      .layers = per_stage,
                      .embedding = stage == 0,
                      .head = stage == stages - 1});
  }
  return chunks;
}

}  // namespace trireme::parallel
