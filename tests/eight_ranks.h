#pragma once
// A tiny model cut over eight ranks, (2, 2, 2), with every kind of exchange that there is in
// training: scatter/gather, tied embeddings, several buckets.

#include <string>
#include <vector>

#include "parallel_run.h"

namespace trireme {

struct EightRanks {
  EightRanks() {
    model.shape.layers = 2;
    model.shape.hidden = 8;
    model.shape.heads = 2;
    model.shape.ffn = 32;
    model.global_batch = 4;
    const parallel::Topology topology(cut.p, cut.t, cut.d);
    for (int rank = 0; rank < kRanks; ++rank)
      places.push_back(topology.coordinates(Rank{rank}).text());
  }

  static constexpr int kRanks = 8;
  Cut cut = {.p = 2, .t = 2, .d = 2, .scatter_gather = true, .reduction = {.bucket_elements = 600}};
  Model model;
  std::vector<std::string> places;

  /// As in "rank 5 (p1 t0 d1)".
  [[nodiscard]] std::string name_of(int rank) const {
    return format("rank {} ({})", rank, places[static_cast<size_t>(rank)]);
  }
  /// As a rank's messages begin: "[rank 5 = p1 t0 d1]".
  [[nodiscard]] std::string place_of(int rank) const {
    return format("[rank {} = {}]", rank, places[static_cast<size_t>(rank)]);
  }
};

}  // namespace trireme
