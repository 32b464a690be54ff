#pragma once
// Small cuts with every kind of exchange that there is in training.

#include <string>
#include <vector>

#include "parallel_run.h"

namespace trireme {

/// A tiny model cut over ranks, each with its place.
struct CutRanks {
  Cut cut;
  Model model;
  std::vector<std::string> places;

  CutRanks(Cut its_cut, int layers) : cut(std::move(its_cut)) {
    model.shape.layers = layers;
    model.shape.hidden = 8;
    model.shape.heads = 2;
    model.shape.ffn = 32;
    model.global_batch = 4;
    for (int rank = 0; rank < cut.ranks(); ++rank) places.push_back(at(rank).text());
  }

  [[nodiscard]] parallel::Coordinates at(int rank) const {
    return parallel::Topology(cut.p, cut.t, cut.d, cut.rank_order).coordinates(Rank{rank});
  }
  /// As in "rank 5 (p1 t0 d1)".
  [[nodiscard]] std::string name_of(int rank) const {
    return format("rank {} ({})", rank, places[static_cast<size_t>(rank)]);
  }
  /// As a rank's messages begin: "[rank 5 = p1 t0 d1]".
  [[nodiscard]] std::string place_of(int rank) const {
    return format("[rank {} = {}]", rank, places[static_cast<size_t>(rank)]);
  }
};

/// Scatter/gather, tied embeddings, several buckets.
struct EightRanks : CutRanks {
  EightRanks()
      : CutRanks(
            {.p = 2, .t = 2, .d = 2, .scatter_gather = true, .reduction = {.bucket_elements = 600}},
            2) {}
  static constexpr int kRanks = 8;
};

/// Two stages with two chunks each: the stage before and the next one are one peer, with which
/// activations and gradients go both ways.
struct RingOfTwoStages : CutRanks {
  RingOfTwoStages() : CutRanks({.p = 2, .d = 2, .v = 2}, 4) { model.global_batch = 8; }
};

}  // namespace trireme
