#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.h"

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

/// Which layers each virtual stage has, over the whole pipeline. Every layer is placed once, in
/// order; embedding and head stand at the ends.
struct Layout {
  int pipeline = 1;                 ///< p
  std::vector<int> layers_of = {};  ///< [virtual stage], p v of them; 0 is allowed
  bool operator==(const Layout&) const = default;

  [[nodiscard]] int stages() const { return static_cast<int>(layers_of.size()); }
  [[nodiscard]] int chunks_per_rank() const { return stages() / pipeline; }  ///< v
  [[nodiscard]] int layers() const;
  /// What a rank holds: stage c p + r is chunk c of rank r (SC'21 section 2.2.2).
  [[nodiscard]] std::vector<Chunk> chunks(int pipeline_rank) const;

  /// Megatron-LM's form: "Ett|t*3|tL". parse_layout() reads it back.
  [[nodiscard]] std::string text() const;
  /// For people: where every layer went, a line for each rank, and "96 of 96 layers placed"; of one
  /// stage that line alone.
  [[nodiscard]] std::string placement() const;
};

/// Equal runs of layers over p v virtual stages. Usage error unless the layers divide by p v, with
/// the nearest counts that do.
[[nodiscard]] Layout equal_layout(int layers, int pipeline_size, int chunks_per_rank);

/// v where each virtual stage has so many layers (--num-layers-per-virtual-pipeline-stage). Usage
/// error unless p stages of them divide the layers.
[[nodiscard]] int chunks_for(int layers, int pipeline_size, int layers_per_virtual_stage);

/// Reads the text of --pipeline-model-parallel-layout, as in "Et*3|(tt|)*4ttL": stages divided by |
/// in the order of the model (first chunk of every rank, then the second), E embedding, t layer, L
/// head and loss; x*N and (...)*N repeat; commas and spaces are for the eye; a stage may be empty.
/// v follows from the number of stages. Usage error, with the place in the text, for what is
/// unknown, MTP layers (m) among it; and unless the text has the model's layers, E first, L last,
/// and a multiple of p stages.
[[nodiscard]] Layout parse_layout(std::string_view text, int layers, int pipeline_size);

/// What a stage costs, in any unit: FLOPs, or measured seconds.
struct StageCosts {
  double layer = 1;
  double embedding = 0;
  double head = 0;
};

/// The layout over p v virtual stages whose most expensive stage costs least; where several are as
/// good, earlier stages, which keep more microbatches in flight, have fewer layers. Usage error
/// where there are too few layers for every stage to have something.
[[nodiscard]] Layout balanced_layout(int layers, int pipeline_size, int chunks_per_rank,
                                     const StageCosts& costs);

}  // namespace trireme::parallel
