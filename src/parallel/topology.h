#pragma once
#include <string>
#include <vector>

#include "core/ids.h"

namespace trireme::parallel {

/// A rank's place on the named axes.
struct Coordinates {
  int pipeline = 0;
  int tensor = 0;
  int data = 0;
  bool operator==(const Coordinates&) const = default;
  /// As in "p1 t0 d1".
  [[nodiscard]] std::string text() const;
};

/// Which axis runs fastest over the ranks: the first named. Tensor ranks always share a node (SC'21
/// section 3.1). Megatron-LM's default is the first; --use-tp-pp-dp-mapping asks for the other.
enum class RankOrder { tensor_data_pipeline, tensor_pipeline_data };

/// How n = p t d ranks are laid out. Context and expert parallelism are 1. The only place that
/// knows who is whose neighbour.
class Topology {
 public:
  /// Throws unless every factor is at least 1.
  Topology(int pipeline, int tensor, int data, RankOrder order = RankOrder::tensor_data_pipeline);
  Topology() : Topology(1, 1, 1) {}

  [[nodiscard]] int pipeline() const { return pipeline_; }
  [[nodiscard]] int tensor() const { return tensor_; }
  [[nodiscard]] int data() const { return data_; }
  [[nodiscard]] RankOrder order() const { return order_; }
  [[nodiscard]] int world_size() const { return pipeline_ * tensor_ * data_; }
  [[nodiscard]] int size(Axis axis) const;

  [[nodiscard]] Coordinates coordinates(Rank rank) const;
  [[nodiscard]] Rank rank(const Coordinates& at) const;
  /// The ranks that differ from this one on the axis only, ascending along it.
  [[nodiscard]] std::vector<Rank> group(Axis axis, Rank rank) const;
  /// The members of a group of this rank, in the group's order: along the axis; first and last
  /// stage (the rank alone where it is neither, or there is one stage); ascending otherwise.
  [[nodiscard]] std::vector<Rank> group(RankGroup group, Rank rank) const;

  /// Throws, with all factors named, unless exactly this many ranks run.
  void require_world_size(int ranks) const;

  bool operator==(const Topology&) const = default;

 private:
  int pipeline_;
  int tensor_;
  int data_;
  RankOrder order_;
};

}  // namespace trireme::parallel
