#pragma once
#include <optional>
#include <vector>

#include "schedule/action.h"

namespace trireme::schedule {

/// A model chunk of a pipeline: virtual stage c p + r is chunk c of rank r (SC'21 section 2.2.2).
struct Place {
  int rank = 0;  ///< pipeline rank
  ChunkId chunk = {};
  bool operator==(const Place&) const = default;
};

/// What all ranks of a pipeline do in one global batch.
struct Pipeline {
  int microbatches = 1;                         ///< m
  int chunks = 1;                               ///< v
  std::vector<std::vector<Action>> ranks = {};  ///< [pipeline rank], p of them
  bool operator==(const Pipeline&) const = default;

  [[nodiscard]] int stages() const { return static_cast<int>(ranks.size()); }
  [[nodiscard]] Schedule of(int rank) const {
    return {.microbatches = microbatches,
            .chunks = chunks,
            .actions = ranks[static_cast<size_t>(rank)]};
  }
  /// Of the whole pipeline: whether any rank makes gradients.
  [[nodiscard]] bool trains() const;
  /// Whether messages are written out; where they are not, insert_communication() writes them.
  [[nodiscard]] bool has_messages() const;

  /// The chunk so many virtual stages further along the model; nothing beyond its ends.
  [[nodiscard]] std::optional<Place> neighbour(const Place& at, int distance) const;
};

/// The way that messages of one kind take from one rank to one other, first in first out. A rank
/// has one outgoing and one incoming channel of a kind.
struct Channel {
  bool gradient = false;  ///< otherwise activations
  int from = 0;           ///< pipeline ranks
  int to = 0;
  bool operator==(const Channel&) const = default;
  /// As in "activations from rank 0 to rank 1".
  [[nodiscard]] std::string text() const;
};

/// The channel of a send or a receive of that rank.
[[nodiscard]] Channel channel_of(const Pipeline& pipeline, int rank, ActionKind kind);

}  // namespace trireme::schedule
